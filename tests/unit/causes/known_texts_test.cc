// These are real texts of the libraries; known_texts.cc names their sources.
#include "common/causes/known_texts.h"

#include <gtest/gtest.h>

#include "common/base/reason.h"

namespace muster {
namespace {

struct Known {
  absl::string_view text;
  absl::string_view reason;
};

const Known kInALine[] = {
    {"torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered", reason::kDeviceFault},
    {"NVRM: Xid (PCI:0000:3b:00): 79, pid=2, GPU has fallen off the bus.", reason::kDeviceFault},
    {"Unable to determine the device handle for GPU 0000:41:00.0: GPU is lost.  Reboot the system",
     reason::kDeviceFault},
    {"CUDA error: uncorrectable NVLink error detected during the execution", reason::kDeviceFault},
    {"rtDeviceSynchronize execute failed, reason=[device mem error]", reason::kDeviceFault},
    {"HBM MULTI BIT ECC ERROR. time us= 1, ERR99999", reason::kDeviceFault},
    {"reason=[link error]: rtStreamSynchronize execute failed", reason::kDeviceFault},
    {"RuntimeError: unable to write to file </torch_1_2_3>: No space left on device (28)", reason::kSharedMemoryFull},
    {"RuntimeError: unable to open shared memory object </torch_9_1> in read-write mode: No space left on device (28)",
     reason::kSharedMemoryFull},
    {"NCCL WARN Error: failed to extend /dev/shm/nccl-Uf8Y to 9637892 bytes: No space left on device",
     reason::kSharedMemoryFull},
    {"It is possible that dataloader's workers are out of shared memory.", reason::kSharedMemoryFull},
    {"misc/ibvwrap.cc:262 NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory",
     reason::kResourceLimit},
    {"OSError: [Errno 28] No space left on device", reason::kDiskFull},
    {"OSError: [Errno 122] Disk quota exceeded: '/home/a/x.pt'", reason::kDiskFull},
    {"OSError: [Errno 30] Read-only file system: '/root/.cache'", reason::kReadOnlyFileSystem},
    {"OSError: [Errno 116] Stale file handle", reason::kStorageFault},
    {"OSError: [Errno 117] Structure needs cleaning: 'a'", reason::kIoError},
    {"OSError: [Errno 5] Input/output error", reason::kIoError},
    {"OSError: [Errno 108] Cannot send after transport endpoint shutdown: '/lustre/a'", reason::kIoError},
    {"OSError: [Errno 24] Too many open files", reason::kTooManyOpenFiles},
    {"RuntimeError: received 0 items of ancdata", reason::kTooManyOpenFiles},
    {"RuntimeError: can't start new thread", reason::kResourceLimit},
    {"libgomp: Thread creation failed: Resource temporarily unavailable", reason::kResourceLimit},
    {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB.", reason::kDeviceOutOfMemory},
    {"NCCL WARN Cuda failure 2 'out of memory'", reason::kDeviceOutOfMemory},
    {"RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
     reason::kDeviceOutOfMemory},
    {"RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB", reason::kDeviceOutOfMemory},
    {"jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 9 bytes.",
     reason::kDeviceOutOfMemory},
    {"EL0004: [PID: 12] Failed to allocate memory.", reason::kDeviceOutOfMemory},
    {"RuntimeError: The NVIDIA driver on your system is too old (found version 11040).", reason::kLibraryMismatch},
    {"CUDA driver version is insufficient for CUDA runtime version", reason::kLibraryMismatch},
    {"Failed to initialize NVML: Driver/library version mismatch", reason::kLibraryMismatch},
    {"CUDA error: no kernel image is available for execution on the device", reason::kLibraryMismatch},
    {"AssertionError: Torch not compiled with CUDA enabled", reason::kLibraryMismatch},
    {"ImportError: /opt/flash_attn_2_cuda.so: undefined symbol: _ZN3c104cuda9SetDeviceEi", reason::kLibraryMismatch},
    {"/lib/libm.so.6: version `GLIBC_2.29' not found (required by /opt/a.so)", reason::kLibraryMismatch},
    {"OSError: [Errno 8] Exec format error: './a'", reason::kExecFormatError},
    {"RuntimeError: No CUDA GPUs are available", reason::kDeviceMissing},
    {"RuntimeError: CUDA error: invalid device ordinal", reason::kDeviceMissing},
    {"RuntimeError: Found no NVIDIA driver on your system.", reason::kDeviceMissing},
    {"CUDA error: all CUDA-capable devices are busy or unavailable", reason::kDeviceBusy},
    {"EJ0001: Failed to initialize the HCCP process.", reason::kDeviceBusy},
    {"init.cc:947 NCCL WARN Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 1000",
     reason::kDuplicateDevice},
    {"CUDA error: an illegal memory access was encountered", reason::kDeviceKernelFailed},
    {"RuntimeError: CUDA error: device-side assert triggered", reason::kDeviceKernelFailed},
    {"there is an aicore error exception, core id is 0, error code = 0x800000, dump info: pc start: 0x1240c0031000, "
     "vec "
     "error info: 0x1f",
     reason::kDeviceKernelFailed},
    {"rtStreamSynchronize execute failed, reason=[hccl op retry failed]", reason::kPeerConnectionLost},
    {"gloo/transport/tcp/device.cc:83] ifa != nullptr. Unable to find address for: bond1", reason::kInterfaceNotFound},
    {"bootstrap.cc:45 NCCL WARN Bootstrap : no socket interface found", reason::kInterfaceNotFound},
    {"socket.gaierror: [Errno -2] Name or service not known", reason::kHostNotResolved},
    {"socket.gaierror: [Errno -3] Temporary failure in name resolution", reason::kHostNotResolved},
    {"OSError: [Errno 98] Address already in use", reason::kPortInUse},
    {"OSError: [Errno 113] No route to host", reason::kNetworkUnreachable},
    {"OSError: [Errno 101] Network is unreachable", reason::kNetworkUnreachable},
    {"RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory",
     reason::kDamagedFile},
    {"SafetensorError: Error while deserializing header: MetadataIncompleteBuffer", reason::kDamagedFile},
    {"EI0004: The ranktable is invalid", reason::kRankTableInvalid},
    {"The ranktable or rank is invalid (EI0014)", reason::kRankTableInvalid},
    {"EI0005: The parameters of the collective differ", reason::kRanksDiffer},
    {"RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is running", reason::kRanksDiffer},
    {"MemoryError: std::bad_alloc", reason::kOutOfMemory},
    {"OSError: [Errno 12] Cannot allocate memory", reason::kOutOfMemory},
    {"RuntimeError: DataLoader worker (pid 29001) is killed by signal: Killed. ", reason::kKilledFromOutside},
    {"ModuleNotFoundError: No module named 'apex'", reason::kMissingModule},
    {"ImportError: libcudart.so.11.0: cannot open shared object file: No such file", reason::kMissingLibrary},
    {"python: can't open file '/a/train.py': [Errno 2] No such file or directory", reason::kMissingFile},
    {"Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1)", reason::kCollectiveTimeout},
    {"EI0006: Getting socket times out.", reason::kCollectiveTimeout},
    {"gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.1]:2", reason::kPeerConnectionLost},
    {"NCCL error: ncclRemoteError: A call failed possibly due to a network error", reason::kPeerConnectionLost},
};

TEST(ReasonByText, OfWhatLibrariesWriteInALine) {
  for (const Known& known : kInALine) {
    EXPECT_EQ(ReasonByText(known.text, TextPlace::kLine), known.reason) << known.text;
    EXPECT_EQ(ReasonByText(known.text, TextPlace::kException), known.reason) << known.text;
  }
}

const Known kInAnException[] = {
    {"OSError: We couldn't connect to 'https://huggingface.co' to load this file", reason::kServerUnreachable},
    {"requests.exceptions.ConnectionError: HTTPSConnectionPool(host='a'): Max retries exceeded with url: /b",
     reason::kServerUnreachable},
    {"_pickle.UnpicklingError: invalid load key, 'v'.", reason::kDamagedFile},
    {"EOFError: Ran out of input", reason::kDamagedFile},
    {"ImportError: cannot import name 'x' from 'y' (/z.py)", reason::kLibraryMismatch},
    {"ValueError: numpy.dtype size changed, may indicate binary incompatibility.", reason::kLibraryMismatch},
    {"subprocess.CalledProcessError: Command 'a' died with <Signals.SIGSEGV: 11>.", reason::kSegmentationFault},
    {"BlockingIOError: [Errno 11] Resource temporarily unavailable in fork_exec", reason::kResourceLimit},
    {"OSError: [Errno 107] Transport endpoint is not connected: '/mnt/a'", reason::kIoError},
};

TEST(ReasonByText, OfWhatCountsInAnExceptionOnly) {
  for (const Known& known : kInAnException) {
    EXPECT_EQ(ReasonByText(known.text, TextPlace::kException), known.reason) << known.text;
    EXPECT_EQ(ReasonByText(known.text, TextPlace::kLine), "") << known.text;
  }
}

constexpr absl::string_view kOrdinary[] = {
    "epoch 3/10 step 1200 loss 2.31 lr 3e-4 tokens/s 41234",
    "[rank0]:[W1119 15:27:54.017 socket.cpp:755] [c10d] The IPv6 network addresses of (node-0, 29500) cannot be "
    "retrieved "
    "(gai error: -2 - Name or service not known).",
    "[default0]:[W1119 15:27:54.017 a.cpp:1] Address already in use",
    "2026-11-25 02:39:14.120: W tensorflow/stream_executor/platform/default/dso_loader.cc:64] Could not load dynamic "
    "library 'libnvinfer.so.7'; dlerror: libnvinfer.so.7: cannot open shared object file: No such file or directory",
    "INFO 11-25 02:39:14 no CUDA GPUs are available, using the CPU",
    "2026-11-25 02:39:14 INFO checkpoint saved to /out/step_100.pt",
    "[INFO] connection closed by peer, reconnecting",
    "WARNING: [Errno 98] Address already in use, choosing another port",
    "UserWarning: CUDA initialization: Found no NVIDIA driver on your system.",
    "[W904 19:32:38.1 socket.cpp:601] [c10d] The client socket has failed to connect to any network address",
    "W0904 19:32:38.123456 12 a.cc:3] no space left on device",
    "I0904 19:32:38.123456 12 a.cc:3] address already in use",
    "Retrying (Retry(total=4)) after connection broken: Temporary failure in name resolution",
    "connection refused; trying again in 5 s: No route to host",
    "could not load apex: No module named 'apex'; falling back to torch.optim",
    "skipping /data/a.tar: No such file or directory",
    "ignoring error: Stale file handle",
    "DEBUG: OSError: [Errno 28] No space left on device",
    "0 uncorrected ECC errors",
    "NCCL INFO Channel 00/02 :    0   1   2   3",
    "node1:12:34 [0] NCCL INFO NET/IB : No device found.",
    "NCCL version 2.21.5+cuda12.4",
    "memory: 12 GiB of 80 GiB are used on the device",
    "gradient overflow; loss scale is now 32768",
    "Loading checkpoint shards: 100%|##########| 4/4 [00:05<00:00,  1.3s/it]",
    "set the out-of-memory policy to 'raise'",
    "saving the rank table",
    "the timeout of collectives is 30 minutes",
    "ranks 0 to 7 have connected",
    "model EI00021 with 7B parameters",
    "the file EL0004.bin was loaded",
    "FutureWarning: You are using `torch.load` with `weights_only=False`",
    "accuracy 0.91, error rate 0.09",
    "tokenizer has 32000 words: error, traceback, exception",
    "validation: 12 samples failed, 988 passed",
    "Stopping: early stopping after 5 epochs",
    "File written: /out/log.txt",
};

TEST(ReasonByText, OrdinaryLinesHaveNone) {
  for (const absl::string_view line : kOrdinary) EXPECT_EQ(ReasonByText(line, TextPlace::kLine), "") << line;
}

constexpr absl::string_view kExceptionsOfOtherCauses[] = {
    "RuntimeError: all_reduce error: shapes differ",
    "ValueError: cannot reproduce error 3",
    "OSError: [Errno 107] Transport endpoint is not connected",
    "KeyError: 'timeout'",
    "ValueError: step 5 has no input/output error model",
    "AssertionError: expected 0 killed workers",
};

TEST(ReasonByText, ExceptionsOfOtherCausesHaveNone) {
  for (const absl::string_view text : kExceptionsOfOtherCauses) {
    EXPECT_EQ(ReasonByText(text, TextPlace::kException), "") << text;
  }
}

TEST(ReasonByText, OfTwoTheFaultOfTheHardwareWins) {
  EXPECT_EQ(ReasonByText("EI0002: the notify timed out\nHBM MULTI BIT ECC ERROR", TextPlace::kException),
            reason::kDeviceFault);
}

TEST(ReasonByType, WithAndWithoutItsModule) {
  EXPECT_EQ(ReasonByType("ModuleNotFoundError"), reason::kMissingModule);
  EXPECT_EQ(ReasonByType("zipfile.BadZipFile"), reason::kDamagedFile);
  EXPECT_EQ(ReasonByType("torch.OutOfMemoryError"), reason::kDeviceOutOfMemory);
  EXPECT_EQ(ReasonByType("PermissionError"), reason::kPermissionDenied);
  EXPECT_EQ(ReasonByType("KeyError"), "");
  EXPECT_EQ(ReasonByType(""), "");
}

TEST(EvidenceOf, HardwareIsMoreThanAPeersEnd) {
  EXPECT_GT(EvidenceOf(reason::kDeviceFault), EvidenceOf(reason::kPythonException));
  EXPECT_GT(EvidenceOf(reason::kPythonException), EvidenceOf(reason::kCollectiveTimeout));
  EXPECT_EQ(EvidenceOf(reason::kPeerConnectionLost), EvidenceOf(reason::kCollectiveTimeout));
}

}  // namespace
}  // namespace muster
