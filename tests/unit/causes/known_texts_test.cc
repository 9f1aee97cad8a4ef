// These are real texts of the libraries; known_texts_table.cc names their sources.
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
    {"Unable to determine the device handle for GPU0000:CB:00.0: Unknown Error", reason::kDeviceFault},
    {"[ 811.2] NVRM: Xid (PCI:0000:3b:00): 95, pid=2, Uncontained: CE User Channel (FECS) (0x9)", reason::kDeviceFault},
    {"nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20034, Fatal, Link 48 LTSSM Fault Up", reason::kDeviceFault},
    {"RuntimeError: synchronizeStream:NPUStream.cpp:475 NPU error, error code is 507053", reason::kDeviceFault},
    {"RuntimeError: synchronizeStream:NPUStream.cpp:475 NPU error, error code is 507054", reason::kDeviceFault},
    {"RuntimeError: synchronizeStream:NPUStream.cpp:475 NPU error, error code is 507056", reason::kDeviceFault},
    {"rtStreamSynchronize execute failed, reason=[device local mem error]", reason::kDeviceFault},
    {"OSError: [Errno 28] inotify watch limit reached", reason::kResourceLimit},
    {"OSError: [Errno 74] Bad message: '/data/a.bin'", reason::kIoError},
    {"OSError: [Errno 37] No locks available", reason::kIoError},
    {"OSError: [Errno 126] Required key not available: '/home/a/x.pt'", reason::kPermissionDenied},
    {"OSError: [Errno 127] Key has expired: '/home/a'", reason::kPermissionDenied},
    {"ImportError: /tmp/a.so: failed to map segment from shared object: Operation not permitted",
     reason::kPermissionDenied},
    {"OSError: [Errno 40] Too many levels of symbolic links: 'l'", reason::kBadPath},
    {"OSError: [Errno 36] File name too long: 'aaaa'", reason::kBadPath},
    {"bash: line 1: /bin/true: Argument list too long", reason::kCommandTooLong},
    {"bash: fork: Resource temporarily unavailable", reason::kResourceLimit},
    {"  what():  Resource temporarily unavailable", reason::kResourceLimit},
    {"OMP: Error #34: System unable to allocate necessary resources for OMP thread:", reason::kResourceLimit},
    {"lmdb.MapFullError: mdb_put: MDB_MAP_FULL: Environment mapsize limit reached", reason::kResourceLimit},
    {"lmdb.ReadersFullError: mdb_txn_begin: MDB_READERS_FULL: Environment maxreaders limit reached",
     reason::kResourceLimit},
    {"RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 21.90G of 7.48G "
     "hbm.",
     reason::kDeviceOutOfMemory},
    {"Attempting to reserve 3.95G at the bottom of memory. That was not possible. There are 1.92G free, 0B reserved.",
     reason::kDeviceOutOfMemory},
    {"cupy_backends.cuda.libs.cusolver.CUSOLVERError: CUSOLVER_STATUS_ALLOC_FAILED", reason::kDeviceOutOfMemory},
    {"RuntimeError: CUDA error: HIPBLAS_STATUS_ALLOC_FAILED when calling `hipblasCreate(handle)`",
     reason::kDeviceOutOfMemory},
    {"ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`",
     reason::kDeviceOutOfMemory},
    {"ValueError: Free memory on device cuda:0 (7.34/15.49 GiB) on startup is less than desired GPU memory utilization "
     "(0.8, 12.39 GiB).",
     reason::kDeviceOutOfMemory},
    {"RuntimeError: CUDA error: the provided PTX was compiled with an unsupported toolchain.",
     reason::kLibraryMismatch},
    {"Triton Error [CUDA]: device kernel image is invalid", reason::kLibraryMismatch},
    {"RuntimeError: HIP error: invalid device function", reason::kLibraryMismatch},
    {"RuntimeError: CUDA error: CUBLAS_STATUS_ARCH_MISMATCH when calling `cublasGemmEx(handle)`",
     reason::kLibraryMismatch},
    {"The detected CUDA version (11.8) mismatches the version that was used to compile", reason::kLibraryMismatch},
    {"RuntimeError: jaxlib version 0.6.0 is newer than and incompatible with jax version 0.4.21.",
     reason::kLibraryMismatch},
    {"E0000 cuda_dnn.cc:522] Loaded runtime CuDNN library: 9.1.0 but source was compiled with: 9.8.0.",
     reason::kLibraryMismatch},
    {"RuntimeError: module compiled against ABI version 0x1000009 but this version of numpy is 0x2000000",
     reason::kLibraryMismatch},
    {"OMP: Error #15: Initializing libiomp5.so, but found libomp.so already initialized.", reason::kLibraryMismatch},
    {"RuntimeError: CUDA error: PTX JIT compiler library not found", reason::kMissingLibrary},
    {"Failed to initialize NVML: Unknown Error", reason::kDeviceMissing},
    {"HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION: The agent attempted to access memory beyond the largest legal "
     "address.",
     reason::kDeviceKernelFailed},
    {"RuntimeError: CUDA error: invalid program counter", reason::kDeviceKernelFailed},
    {"RuntimeError: CUDA error: operation not supported on global/shared address space", reason::kDeviceKernelFailed},
    {"fatal: unable to access 'https://a.invalid/x/': Could not resolve host: a.invalid", reason::kHostNotResolved},
    {"Communication_Error_Bind_IP_Port(EI0019): Failed to enable listening for the host network adapter socket.",
     reason::kPortInUse},
    {"EI0020: Failed to enable listening for the NPU network adapter socket.", reason::kPortInUse},
    {"ibvwrap.c:262 NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_1:1, curr state "
     "INIT",
     reason::kNetworkUnreachable},
    {"sqlite3.DatabaseError: database disk image is malformed", reason::kDamagedFile},
    {"lmdb.CorruptedError: mdb_get: MDB_CORRUPTED: Located page was wrong type", reason::kDamagedFile},
    {"lmdb.InvalidError: /data/a: MDB_INVALID: File is not an LMDB file", reason::kDamagedFile},
    {"Memory cgroup out of memory: Killed process 4182 (python) total-vm:812044kB, anon-rss:518420kB",
     reason::kOutOfMemory},
    {"slurmstepd: error: Detected 1 oom_kill event in StepId=115.0. Some of the step tasks have been OOM Killed.",
     reason::kOutOfMemory},
    {"slurmstepd: error: Detected 1 oom-kill event(s) in step 349.0 cgroup.", reason::kOutOfMemory},
    {"srun: error: node1: task 0: Out Of Memory", reason::kOutOfMemory},
    {"cpu_feature_guard.cc:37] The TensorFlow library was compiled to use AVX instructions, but these aren't available "
     "on your machine.",
     reason::kIllegalInstruction},
    {"RuntimeError: [1]: params[0] in this process with sizes [96, 32] appears not to match sizes of the same param in "
     "process 0.",
     reason::kRanksDiffer},
    {"bootstrap.cc:150 NCCL WARN Message truncated : received 1024 bytes instead of 512", reason::kRanksDiffer},
    {"misc/socket.cc:578 NCCL WARN socketPollConnect: connect to 10.0.0.1<36141> returned Connection refused, exceeded "
     "error retry count after 35 attempts",
     reason::kPeerConnectionLost},
    {"NCCL WARN Net : Call to recv from 10.0.0.1<53000> failed : Connection reset by peer",
     reason::kPeerConnectionLost},
    {"ib_mlx5_log.c:171  Transport retry count exceeded on mlx5_0:1/IB (synd 0x15 vend 0x81 hw_synd 0/0)",
     reason::kPeerConnectionLost},
    {"rpc_client.h:203: Failed to connect to GCS within 60 seconds. GCS may have been killed.",
     reason::kPeerConnectionLost},
    {"rtStreamSynchronize execute failed, reason=[suspect device mem error]", reason::kPeerConnectionLost},
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
    {"sqlite3.OperationalError: database or disk is full", reason::kDiskFull},
    {"sqlite3.OperationalError: disk I/O error", reason::kIoError},
    {"std::system_error: Resource temporarily unavailable", reason::kResourceLimit},
    {"RuntimeError: CUDA driver is a stub library", reason::kLibraryMismatch},
    {"RuntimeError: cuDNN error: CUDNN_STATUS_ARCH_MISMATCH", reason::kLibraryMismatch},
    {"RuntimeError: Detected that PyTorch and torchvision were compiled with different CUDA major versions.",
     reason::kLibraryMismatch},
    {"RuntimeError: operator torchvision::nms does not exist", reason::kLibraryMismatch},
    {"RuntimeError: FlashAttention only supports Ampere GPUs or newer.", reason::kLibraryMismatch},
    {"RuntimeError: Unable to initialize backend 'cuda': FAILED_PRECONDITION: No visible GPU devices.",
     reason::kDeviceMissing},
    {"urllib3.exceptions.NameResolutionError: <HTTPSConnection(host='a', port=443)>: Failed to resolve 'a'",
     reason::kHostNotResolved},
    {"botocore.exceptions.EndpointConnectionError: Could not connect to the endpoint URL: \"https://s3.a.com/\"",
     reason::kServerUnreachable},
    {"botocore.exceptions.NoCredentialsError: Unable to locate credentials", reason::kPermissionDenied},
    {"botocore.exceptions.ClientError: An error occurred (AccessDenied) when calling the PutObject operation: Access "
     "Denied",
     reason::kPermissionDenied},
    {"botocore.exceptions.ClientError: An error occurred (403) when calling the HeadObject operation: Forbidden",
     reason::kPermissionDenied},
    {"botocore.exceptions.ClientError: An error occurred (ExpiredToken) when calling the ListObjects operation: The "
     "token",
     reason::kPermissionDenied},
    {"botocore.exceptions.ClientError: An error occurred (InvalidAccessKeyId) when calling the PutObject operation: "
     "The key",
     reason::kPermissionDenied},
    {"botocore.exceptions.ClientError: An error occurred (404) when calling the HeadObject operation: Not Found",
     reason::kMissingFile},
    {"botocore.errorfactory.NoSuchBucket: An error occurred (NoSuchBucket) when calling the ListObjects operation: The "
     "specified bucket does not exist",
     reason::kMissingFile},
    {"botocore.errorfactory.NoSuchKey: An error occurred (NoSuchKey) when calling the GetObject operation: The "
     "specified key does not exist.",
     reason::kMissingFile},
    {"huggingface_hub.errors.LocalEntryNotFoundError: An error happened while trying to locate the file on the Hub and "
     "we cannot find the requested files in the local cache.",
     reason::kServerUnreachable},
    {"huggingface_hub.errors.LocalEntryNotFoundError: Cannot find the requested files in the disk cache and outgoing "
     "traffic has been disabled.",
     reason::kMissingFile},
    {"OSError: a/b is not a local folder and is not a valid model identifier listed on 'https://huggingface.co/models'",
     reason::kMissingFile},
    {"google.auth.exceptions.DefaultCredentialsError: Your default credentials were not found.",
     reason::kPermissionDenied},
    {"google.api_core.exceptions.Forbidden: 403 GET: a@b.com does not have storage.objects.get access to the Google "
     "Cloud Storage object.",
     reason::kPermissionDenied},
    {"wandb.errors.UsageError: api_key not configured (no-tty). call wandb.login(key=[your_api_key])",
     reason::kPermissionDenied},
    {"aiohttp.client_exceptions.ClientConnectorError: Cannot connect to host a:443 ssl:default [Connect call failed]",
     reason::kServerUnreachable},
    {"requests.exceptions.ReadTimeout: HTTPSConnectionPool(host='a', port=443): Read timed out. (read timeout=10)",
     reason::kServerUnreachable},
    {"redis.exceptions.ConnectionError: Error 111 connecting to localhost:6379. Connection refused.",
     reason::kServerUnreachable},
    {"urllib.error.URLError: <urlopen error [Errno 111] Connection refused>", reason::kServerUnreachable},
    {"OSError: cannot identify image file <_io.BytesIO object at 0x7f>", reason::kDamagedFile},
    {"OSError: image file is truncated (16 bytes not processed)", reason::kDamagedFile},
    {"pyarrow.lib.ArrowInvalid: Parquet magic bytes not found in footer. Either the file is corrupted or this is not a "
     "parquet file.",
     reason::kDamagedFile},
    {"OSError: Couldn't deserialize thrift: TProtocolException: Invalid data", reason::kDamagedFile},
    {"OSError: Couldn't deserialize thrift: No more data to read.", reason::kDamagedFile},
    {"OSError: Corrupt snappy compressed data.", reason::kDamagedFile},
    {"OSError: Unable to synchronously open file (truncated file: eof = 96, sblock->base_addr = 0, stored_eof = 2048)",
     reason::kDamagedFile},
    {"OSError: Unable to open file (file signature not found)", reason::kDamagedFile},
    {"EOFError: Compressed file ended before the end-of-stream marker was reached", reason::kDamagedFile},
    {"zlib.error: Error -3 while decompressing data: incorrect header check", reason::kDamagedFile},
    {"zlib.error: Error -5 while decompressing data: incomplete or truncated stream", reason::kDamagedFile},
    {"tarfile.ReadError: unexpected end of data", reason::kDamagedFile},
    {"ValueError: mmap length is greater than file size", reason::kDamagedFile},
    {"ValueError: cannot mmap an empty file", reason::kDamagedFile},
    {"ValueError: Failed to read all data for array. Expected (1000,) = 1000 elements, could only read 109 elements.",
     reason::kDamagedFile},
    {"numpy._core._exceptions._ArrayMemoryError: Unable to allocate 72.8 TiB for an array with shape (10000000000000,) "
     "and data type float64",
     reason::kOutOfMemory},
    {"RuntimeError: [pair.cc:446] Received data size doesn't match expected size. Is there a distributed collective "
     "mismatch in your code?",
     reason::kRanksDiffer},
    {"RuntimeError: synchronizeStream:NPUStream.cpp:475 NPU error, error code is 507055", reason::kPeerConnectionLost},
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
    "NVRM: Xid (PCI:0000:3b:00): 13, pid=2, name=python, Graphics SM Warp Exception on (GPC 7, TPC 0, SM 1)",
    "NVRM: Xid (PCI:0000:3b:00): 31, pid=2, name=python, Ch 00000008, intr 00000000. MMU Fault",
    "NVRM: Xid (PCI:0000:3b:00): 43, pid=2, name=python, Ch 00000010",
    "NVRM: Xid (PCI:0000:3b:00): 45, pid=2, name=python, Ch 00000010",
    "NVRM: Xid (PCI:0000:3b:00): 63, pid=2, Row Remapper: New row marked for remapping, reset gpu to activate.",
    "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 28006, Non-fatal, Link 46 MC TS crumbstore MCTO (First)",
    "WARNING: the log of an earlier run has NVRM: Xid (PCI:0000:3b:00): 79, pid=2, GPU has fallen off the bus.",
    "the job ended with Xid 79 yesterday",
    "NCCL INFO Call to ibv_modify_qp failed with 110 Connection timed out, retrying 1/3 after 10 msec of sleep",
    "bash: fork: retry: Resource temporarily unavailable",
    "I0403 15:25:16.346253 1 xla_bridge.py:897] Unable to initialize backend 'cuda': No visible GPU devices.",
    "UCX  WARN  network device 'eth1' is not available, please use one or more of: 'eth0'(tcp)",
    "memory.events: oom 0, oom_kill 0, oom_kill events since the start: 0",
    "the error code is 5070 and the limit of file names is 255",
    "left out /data/a.jpg: cannot identify image file",
    "OMP: Info #274: omp_set_nested routine deprecated",
    "set max_input_length to avoid an argument list that is too long",
    "FlashAttention only supports Ampere GPUs or newer; using the math kernel",
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
    "OSError: Couldn't deserialize thrift: TProtocolException: Exceeded size limit",
    "JSONDecodeError: unexpected end of data",
    "RuntimeError: unable to allocate a port",
    "RuntimeError: NPU error, error code is 507011",
    "ConnectionError: Error 110 connecting to localhost:6379",
    "RuntimeError: Xid 79",
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

TEST(ReasonByText, AnXidIsAFaultOfTheHardware) {
  const absl::string_view line = "EI0002: timeout; NVRM: Xid (PCI:0000:3b:00): 48, pid=2, DBE";
  EXPECT_EQ(ReasonByText(line, TextPlace::kLine, Evidence::kHardware), reason::kDeviceFault);
}

TEST(ReasonByType, WithAndWithoutItsModule) {
  EXPECT_EQ(ReasonByType("ModuleNotFoundError"), reason::kMissingModule);
  EXPECT_EQ(ReasonByType("zipfile.BadZipFile"), reason::kDamagedFile);
  EXPECT_EQ(ReasonByType("torch.OutOfMemoryError"), reason::kDeviceOutOfMemory);
  EXPECT_EQ(ReasonByType("PermissionError"), reason::kPermissionDenied);
  EXPECT_EQ(ReasonByType("gzip.BadGzipFile"), reason::kDamagedFile);
  EXPECT_EQ(ReasonByType("PIL.UnidentifiedImageError"), reason::kDamagedFile);
  EXPECT_EQ(ReasonByType("tensorflow.python.framework.errors_impl.DataLossError"), reason::kDamagedFile);
  EXPECT_EQ(ReasonByType("NotADirectoryError"), reason::kBadPath);
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
