// The table. If a text matches several rows, the first one counts. So the rows for hardware come first, then those for
// what a machine or an installation lacks, special texts before general ones, and last the consequences of another
// process's end.
//
// A comment above each group says where its texts come from: a project's file, the manual of an error code, or a public
// issue. Rows are in lower case. Each text has one possible cause only; ambiguous texts ("unhandled cuda error",
// "EI9999", "CUBLAS_STATUS_NOT_INITIALIZED") are left out.
#include "common/causes/known_texts.h"

#include <algorithm>
#include <array>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/reason.h"

namespace muster {
namespace {

constexpr TextPlace kLine = TextPlace::kLine;
constexpr TextPlace kException = TextPlace::kException;

struct Row {
  absl::string_view text;
  absl::string_view reason;
  TextPlace place = kLine;
  absl::string_view also = "";  // a second text that must occur, too
};

constexpr std::array kTexts = std::to_array<Row>({
    // CUDA: cudaGetErrorString and the names of cuda.h; NVML: nvmlErrorString; the kernel driver's Xid 79
    {"uncorrectable ecc error encountered", reason::kDeviceFault},  // sgl-project/sglang#3204, vllm-project/vllm#5222
    {"cuda_error_ecc_uncorrectable", reason::kDeviceFault},         // nagadit/DeepFaceLab_Linux#89
    {"uncorrectable nvlink error", reason::kDeviceFault},
    {"nvlink or a hardware error", reason::kDeviceFault},
    {"cuda error: hardware stack error", reason::kDeviceFault},
    {"gpu is lost", reason::kDeviceFault},             // JosephKJ/OWOD#81
    {"has fallen off the bus", reason::kDeviceFault},  // NVIDIA/open-gpu-kernel-modules#507
    // NCCL: src/transport/nvls.cc
    {"failed to bind nvlink sharp", reason::kDeviceFault},
    // torch_npu: csrc/core/npu/NPUException.h and .cpp, NPUQueue.cpp
    {"hbm multi bit ecc error", reason::kDeviceFault},
    {"hbm multi-bit ecc error", reason::kDeviceFault},
    {" uce error", reason::kDeviceFault, kException},  // "RuntimeError: UCE ERROR"; not "all_reduce error"
    {"reason=[device mem error]", reason::kDeviceFault},
    {"reason=device mem error", reason::kDeviceFault},
    {"reason=[link error]", reason::kDeviceFault},
    {"reason=device network link error", reason::kDeviceFault},

    // PyTorch: torch/csrc/MapAllocator.cpp, torch/utils/data/_utils/signal_handling.py; NCCL: src/os/linux.cc
    {"unable to write to file </torch_", reason::kSharedMemoryFull},
    {"shared memory object </torch_", reason::kSharedMemoryFull, kLine, "no space left on device"},
    {"unable to allocate shared memory", reason::kSharedMemoryFull},
    {"out of shared memory", reason::kSharedMemoryFull},
    {"insufficient shared memory", reason::kSharedMemoryFull},
    {"error while creating shared memory segment", reason::kSharedMemoryFull},
    {"failed to create shared memory file", reason::kSharedMemoryFull, kLine, "no space left on device"},
    {"/dev/shm/", reason::kSharedMemoryFull, kLine, "no space left on device"},

    // The C library: sysdeps/gnu/errlist; NCCL: src/misc/ibvwrap.cc (NVIDIA/nccl-tests#206); UCX: openucx/ucx#6264,
    // #8229
    {"ibv_reg_mr", reason::kResourceLimit, kLine, "cannot allocate memory"},
    {"ibv_create_cq", reason::kResourceLimit, kLine, "cannot allocate memory"},
    {"ibv_create_qp", reason::kResourceLimit, kLine, "cannot allocate memory"},
    {"no space left on device", reason::kDiskFull},
    {"disk quota exceeded", reason::kDiskFull},
    {"read-only file system", reason::kReadOnlyFileSystem},
    {"stale file handle", reason::kStorageFault},
    {"stale nfs file handle", reason::kStorageFault},
    {"structure needs cleaning", reason::kIoError},
    {"transport endpoint is not connected: '", reason::kIoError, kException},  // with a path: about a file
    {"cannot send after transport endpoint shutdown", reason::kIoError},       // Lustre
    {"remote i/o error", reason::kIoError},
    {"[errno 5] input/output error", reason::kIoError},
    {"file too large", reason::kResourceLimit, kException, "[errno 27]"},
    {"too many open files", reason::kTooManyOpenFiles},
    // torch/multiprocessing/reductions.py, through multiprocessing.reduction: pytorch/pytorch#973
    {"received 0 items of ancdata", reason::kTooManyOpenFiles},
    // CPython: Modules/_threadmodule.c; OpenBLAS: driver/others/blas_server.c; libgomp: team.c
    {"can't start new thread", reason::kResourceLimit},
    {"openblas blas_thread_init: pthread_create failed", reason::kResourceLimit},
    {"libgomp: thread creation failed", reason::kResourceLimit},
    {"resource temporarily unavailable", reason::kResourceLimit, kException, "fork"},

    // CUDA: "out of memory" from cudaGetErrorString, as PyTorch (c10/cuda/CUDACachingAllocator.cpp), NCCL
    // (src/include/checks.h), cuBLAS and cuDNN report it; the same for HIP
    {"cuda out of memory", reason::kDeviceOutOfMemory},
    {"cuda error: out of memory", reason::kDeviceOutOfMemory},
    {"cuda_error_out_of_memory", reason::kDeviceOutOfMemory},
    {"cuda failure", reason::kDeviceOutOfMemory, kLine, "'out of memory'"},
    {"cublas_status_alloc_failed", reason::kDeviceOutOfMemory},
    {"cudnn_status_alloc_failed", reason::kDeviceOutOfMemory},
    {"hip out of memory", reason::kDeviceOutOfMemory},
    {"hip error: out of memory", reason::kDeviceOutOfMemory},
    {"xpu out of memory", reason::kDeviceOutOfMemory},
    // XLA: "RESOURCE_EXHAUSTED: Out of memory while trying to allocate"; TensorFlow: core/framework/op_kernel.cc
    {"resource_exhausted: out of memory", reason::kDeviceOutOfMemory},
    {"resource_exhausted: failed to allocate request", reason::kDeviceOutOfMemory},
    {"oom when allocating tensor with shape", reason::kDeviceOutOfMemory},
    // torch_npu: csrc/core/npu/NPUCachingAllocator.cpp, NPUErrorCodes.h; MindSpore: mem_reuse and device allocators
    {"npu out of memory", reason::kDeviceOutOfMemory},
    {"the memory on the device is exhausted", reason::kDeviceOutOfMemory},
    {"memory isn't enough and alloc failed", reason::kDeviceOutOfMemory},
    {"is more than total mem size", reason::kDeviceOutOfMemory},

    // PyTorch: c10/cuda/CUDAFunctions.cpp, torch/csrc/cuda; CUDA: cudaGetErrorString
    {"nvidia driver on your system is too old", reason::kLibraryMismatch},
    {"cuda driver version is insufficient for cuda runtime version", reason::kLibraryMismatch},
    {"driver/library version mismatch", reason::kLibraryMismatch},  // NVML
    {"system has unsupported display driver / cuda driver combination", reason::kLibraryMismatch},
    {"forward compatibility was attempted on non supported hw", reason::kLibraryMismatch},
    {"no kernel image is available for execution on the device", reason::kLibraryMismatch},
    {"unable to find code object for all current devices", reason::kLibraryMismatch},  // HIP
    {"torch not compiled with cuda enabled", reason::kLibraryMismatch},                // torch/cuda/__init__.py
    {"cudnn version incompatibility", reason::kLibraryMismatch},                       // torch/backends/cudnn
    {"mismatched nccl version detected", reason::kLibraryMismatch},                    // NCCL: src/init.cc
    // glibc: elf/dl-lookup.c, dl-version.c, dl-load.c, dl-reloc.c; CPython's import; NumPy
    {"undefined symbol: ", reason::kLibraryMismatch},
    {"' not found (required by ", reason::kLibraryMismatch},
    {"cannot allocate memory in static tls block", reason::kLibraryMismatch},
    {"invalid elf header", reason::kLibraryMismatch},
    {"wrong elf class", reason::kLibraryMismatch},
    {"[errno 8] exec format error", reason::kExecFormatError},
    {"size changed, may indicate binary incompatibility", reason::kLibraryMismatch, kException},
    {"numpy.core.multiarray failed to import", reason::kLibraryMismatch, kException},
    {"most likely due to a circular import", reason::kPythonException, kException},
    {"cannot import name", reason::kLibraryMismatch, kException, "importerror"},

    {"no cuda gpus are available", reason::kDeviceMissing},
    {"found no nvidia driver on your system", reason::kDeviceMissing},
    {"no cuda-capable device is detected", reason::kDeviceMissing, kException},  // TensorFlow logs it on any machine
    {"cuda_error_no_device", reason::kDeviceMissing, kException},
    {"cuda unknown error - this may be due to an incorrectly set up environment", reason::kDeviceMissing, kException},
    {"invalid device ordinal", reason::kDeviceMissing},  // mindspore-ai/docs, faq/distributed_parallel.md, too
    {"cuda error: system not yet initialized", reason::kDeviceMissing},
    {"no hip gpus are available", reason::kDeviceMissing},
    {"no supported devices found for platform", reason::kDeviceMissing, kException},  // XLA
    {"requested, but no platforms that are instances of", reason::kDeviceMissing},    // JAX: _src/xla_bridge.py
    {"error code is 507033", reason::kDeviceMissing, kException},                     // torch_npu: "start the device"
    // pytorch/pytorch#100691, #2704; libtpu; HCCL's EJ0001 is below
    {"cuda-capable device(s) is/are busy or unavailable", reason::kDeviceBusy},
    {"all cuda-capable devices are busy or unavailable", reason::kDeviceBusy},
    {"the tpu is already in use by", reason::kDeviceBusy},
    {"duplicate gpu detected", reason::kDuplicateDevice},  // NCCL: src/init.cc, NVIDIA/nccl#1241
    {"an illegal memory access was encountered", reason::kDeviceKernelFailed},
    {"cuda_error_illegal_address", reason::kDeviceKernelFailed},
    {"device-side assert triggered", reason::kDeviceKernelFailed},
    {"unspecified launch failure", reason::kDeviceKernelFailed},
    {"cuda error: misaligned address", reason::kDeviceKernelFailed},
    {"an illegal instruction was encountered", reason::kDeviceKernelFailed},
    {"the launch timed out and was terminated", reason::kDeviceKernelFailed},
    {"cublas_status_execution_failed", reason::kDeviceKernelFailed},
    {"cudnn_status_execution_failed", reason::kDeviceKernelFailed},
    {"memory access fault by gpu node", reason::kDeviceKernelFailed},  // ROCm
    {"there is an aicore error", reason::kDeviceKernelFailed},         // CANN's runtime
    {"the aicore execution is abnormal", reason::kDeviceKernelFailed},
    {"the aicpu execution is abnormal", reason::kDeviceKernelFailed},
    {"the vector core execution is abnormal", reason::kDeviceKernelFailed},

    // gloo: gloo/transport/tcp/device.cc; PyTorch: ProcessGroupGloo.cpp; NCCL: src/bootstrap.cc,
    // transport/net_socket.cc
    {"unable to find address for", reason::kInterfaceNotFound},
    {"unable to find interface for", reason::kInterfaceNotFound},
    {"no socket interface found", reason::kInterfaceNotFound},
    {"net/socket : no interface found", reason::kInterfaceNotFound},
    {"no usable listening interface found", reason::kInterfaceNotFound},
    {"unable to resolve hostname to a (local) address", reason::kHostNotResolved},
    {"name or service not known", reason::kHostNotResolved},  // glibc: gai_strerror
    {"temporary failure in name resolution", reason::kHostNotResolved},
    {"no address associated with hostname", reason::kHostNotResolved},
    {"address already in use", reason::kPortInUse},
    {"eaddrinuse", reason::kPortInUse},
    // transformers: utils/hub.py; requests and urllib3; huggingface_hub
    {"we couldn't connect to 'http", reason::kServerUnreachable, kException},
    {"max retries exceeded with url", reason::kServerUnreachable, kException},
    {"cannot access gated repo", reason::kPermissionDenied, kException},
    {"no route to host", reason::kNetworkUnreachable},
    {"network is unreachable", reason::kNetworkUnreachable},

    // PyTorch: caffe2/serialize/inline_container.cc, torch/csrc/serialization.cpp; safetensors: safetensors#668,
    // 1230young/bizgen#15; CPython: Modules/_pickle.c
    {"pytorchstreamreader failed reading", reason::kDamagedFile},
    {"the file might be corrupted", reason::kDamagedFile, kException},
    {"error while deserializing header", reason::kDamagedFile},
    {"invalid load key", reason::kDamagedFile, kException},
    {"pickle data was truncated", reason::kDamagedFile, kException},
    {"eoferror: ran out of input", reason::kDamagedFile, kException},

    {"out of memory. memory malloc failed", reason::kOutOfMemory},  // MindSpore
    {"cannot allocate memory", reason::kOutOfMemory},               // the C library
    {"can't allocate memory", reason::kOutOfMemory},                // c10/core/impl/alloc_cpu.cpp
    {"std::bad_alloc", reason::kOutOfMemory},

    {"no module named ", reason::kMissingModule},
    {"cannot open shared object file", reason::kMissingLibrary},
    {"can't open file '", reason::kMissingFile},  // Python without its script

    // Reports of a child process's end: subprocess, torch/multiprocessing/spawn.py, torch/distributed/elastic, joblib
    {"died with <signals.sigsegv", reason::kSegmentationFault, kException},
    {"terminated with signal sigsegv", reason::kSegmentationFault},
    {"signal 11 (sigsegv) received by pid", reason::kSegmentationFault},
    {"is killed by signal: segmentation fault", reason::kSegmentationFault},
    {"died with <signals.sigabrt", reason::kAborted, kException},
    {"terminated with signal sigabrt", reason::kAborted},
    {"signal 6 (sigabrt) received by pid", reason::kAborted},
    {"is killed by signal: aborted", reason::kAborted},
    {"died with <signals.sigbus", reason::kBusError, kException},
    {"terminated with signal sigbus", reason::kBusError},
    {"signal 7 (sigbus) received by pid", reason::kBusError},
    {"is killed by signal: bus error", reason::kBusError},
    {"died with <signals.sigill", reason::kIllegalInstruction, kException},
    {"signal 4 (sigill) received by pid", reason::kIllegalInstruction},
    {"is killed by signal: illegal instruction", reason::kIllegalInstruction},
    {"died with <signals.sigkill", reason::kKilledFromOutside, kException},
    {"terminated with signal sigkill", reason::kKilledFromOutside},
    {"signal 9 (sigkill) received by pid", reason::kKilledFromOutside},
    {"exit codes of the workers are {sigkill(-9)", reason::kKilledFromOutside},
    {"is killed by signal: killed", reason::kKilledFromOutside},

    // PyTorch: torch/csrc/distributed/c10d/ProcessGroupWrapper.cpp
    {"detected mismatch between collectives on ranks", reason::kRanksDiffer},

    // PyTorch: ProcessGroupNCCL.cpp, TCPStore.cpp, ProcessGroupGloo.cpp; gloo: transport/tcp/unbound_buffer.cc
    {"watchdog caught collective operation timeout", reason::kCollectiveTimeout},
    {"some nccl operations have failed or timed out", reason::kCollectiveTimeout},
    {"watchdog got stuck for", reason::kCollectiveTimeout},
    {"due to a collective timeout", reason::kCollectiveTimeout},
    {"failed to pass monitoredbarrier", reason::kCollectiveTimeout},
    {"timed out in monitoredbarrier after", reason::kCollectiveTimeout},
    {"ms for recv operation to complete", reason::kCollectiveTimeout},
    {"ms for send operation to complete", reason::kCollectiveTimeout},
    {"wait timeout after ", reason::kCollectiveTimeout},
    {"waiting for clients. ", reason::kCollectiveTimeout},
    {"error: socket timeout", reason::kCollectiveTimeout},
    // JAX: XLA's coordination service, AI-Hypercomputer/gpu-recipes#2
    {"barrier timed out. ", reason::kCollectiveTimeout},
    {"error code is 507048", reason::kCollectiveTimeout, kException},  // torch_npu: NPUErrorCodes.h

    // gloo: transport/tcp/pair.cc; NCCL: src/misc/socket.cc, src/init.cc, transport/net_ib; PyTorch: TCPStore,
    // SocketImpl
    {"connection closed by peer", reason::kPeerConnectionLost},
    {"connection closed by remote peer", reason::kPeerConnectionLost},
    {"remote process exited or there was a network error", reason::kPeerConnectionLost},
    {"ncclremoteerror", reason::kPeerConnectionLost},
    {"net/ib", reason::kPeerConnectionLost, kLine, "got completion from peer"},
    {"store->get(", reason::kPeerConnectionLost},
    {"the client socket has timed out", reason::kPeerConnectionLost},
    {"the client socket has failed to connect to any network address", reason::kPeerConnectionLost},
    {"connection was likely closed. did the remote server shutdown or crash?", reason::kPeerConnectionLost},
    {"failed on socketimpl(", reason::kPeerConnectionLost},
    {"the connection to the c10d store has failed", reason::kPeerConnectionLost},
    {"gloo connectfullmesh failed with", reason::kPeerConnectionLost},
    {"/gloo/transport/", reason::kPeerConnectionLost},
    // JAX: jax-ml/jax#23599, #39095; torch_npu: NPUException.h
    {"heartbeat timeout. this indicates that the remote task has failed", reason::kPeerConnectionLost},
    {"failed to send rpc to coordination service", reason::kPeerConnectionLost},
    {"this most likely indicates that another task died", reason::kPeerConnectionLost},
    {"reason=[suspect remote error]", reason::kPeerConnectionLost},
    {"reason=suspect remote error", reason::kPeerConnectionLost},
    {"reason=[hccl op retry failed]", reason::kPeerConnectionLost},

    {": no such file or directory", reason::kMissingFile},
});

// Error codes of CANN and HCCL, from hcomm's error_info_list and MindSpore's tutorials/debug/error_analysis. Programs
// write them as "EI0002:" or "(EI0002)".
constexpr std::array kCodes = std::to_array<Row>({
    {"el0004", reason::kDeviceOutOfMemory},
    {"ei0007", reason::kDeviceOutOfMemory},
    {"ei0011", reason::kDeviceOutOfMemory},
    {"ej0001", reason::kDeviceBusy},
    {"ej0003", reason::kPortInUse},
    {"ei0004", reason::kRankTableInvalid},
    {"ei0014", reason::kRankTableInvalid},
    {"ei0017", reason::kRankTableInvalid},
    {"ei0008", reason::kLibraryMismatch},
    {"ei0005", reason::kRanksDiffer},
    {"ej0002", reason::kNetworkUnreachable},
    {"ei0002", reason::kCollectiveTimeout},
    {"ei0006", reason::kCollectiveTimeout},
    {"ei0015", reason::kCollectiveTimeout},
    {"ei0012", reason::kPeerConnectionLost},
    {"ei0013", reason::kPeerConnectionLost},
});

constexpr std::array kTypes = std::to_array<Row>({
    {"ModuleNotFoundError", reason::kMissingModule},
    {"ImportError", reason::kMissingModule},
    {"FileNotFoundError", reason::kMissingFile},
    {"PermissionError", reason::kPermissionDenied},
    {"MemoryError", reason::kOutOfMemory},
    {"OutOfMemoryError", reason::kDeviceOutOfMemory},
    {"ConnectionRefusedError", reason::kServerUnreachable},
    {"BadZipFile", reason::kDamagedFile},
});

constexpr std::array<absl::string_view, 12> kOfOrdinaryLines = {
    "warning",
    "[w ",
    "retrying",
    "will retry",
    "retry(",
    "trying again",
    "falling back",
    "fall back",
    "ignor",
    "skipp",
    "could not load dynamic library",  // TensorFlow
    "reconnecting",
};

// Levels as loggers write them. "info" in small letters is not in the list, because CANN's real error "dump info: pc
// start" contains it.
constexpr std::array<absl::string_view, 6> kLevels = {" INFO ", " INFO:", "[INFO", " DEBUG", "[DEBUG", " [info"};

bool Holds(absl::string_view text, const Row& row) {
  return absl::StrContains(text, row.text) && (row.also.empty() || absl::StrContains(text, row.also));
}

bool HoldsCode(absl::string_view text, absl::string_view code) {
  for (size_t at = text.find(code); at != absl::string_view::npos; at = text.find(code, at + 1)) {
    const char after = at + code.size() < text.size() ? text[at + code.size()] : '\0';
    const char before = at > 0 ? text[at - 1] : ' ';
    if ((after == ':' && !absl::ascii_isalnum(static_cast<unsigned char>(before))) || (before == '(' && after == ')')) {
      return true;
    }
  }
  return false;
}

// True for a line that does not report a failure: its level is below "error", or it announces another try. Both texts
// begin with a blank that the caller added.
bool IsOrdinary(absl::string_view line, absl::string_view lower) {
  if (absl::StrContains(lower, "nccl warn")) return false;  // NCCL reports errors with the level WARN
  const auto holds = [](absl::string_view text) {
    return [text](absl::string_view word) { return absl::StrContains(text, word); };
  };
  if (std::any_of(kOfOrdinaryLines.begin(), kOfOrdinaryLines.end(), holds(lower))) return true;
  if (std::any_of(kLevels.begin(), kLevels.end(), holds(line))) return true;
  // A level as one letter: glog's "W0904 19:32:38", PyTorch's "[W904 19:32:38" and "[rank0]:[W1119 15:27:54".
  const size_t rank_end = line.find("]:[");
  const size_t at = line.find_first_not_of("[ ", rank_end == absl::string_view::npos ? 0 : rank_end + 2);
  return at != absl::string_view::npos && at + 1 < line.size() && absl::StrContains("IW", line[at]) &&
         absl::ascii_isdigit(static_cast<unsigned char>(line[at + 1]));
}

}  // namespace

absl::string_view ReasonByText(absl::string_view text, TextPlace place, Evidence least) {
  const std::string lower = absl::AsciiStrToLower(text);
  if (place == kLine && IsOrdinary(absl::StrCat(" ", text), absl::StrCat(" ", lower))) return "";
  absl::string_view found, by_code;
  for (const Row& row : kTexts) {
    if (EvidenceOf(row.reason) < least || (row.place == kException && place == kLine) || !Holds(lower, row)) continue;
    found = row.reason;
    break;
  }
  for (const Row& row : kCodes) {
    if (EvidenceOf(row.reason) < least || !HoldsCode(lower, row.text)) continue;
    by_code = row.reason;
    break;
  }
  if (found.empty() || by_code.empty()) return found.empty() ? by_code : found;
  return EvidenceOf(found) > EvidenceOf(by_code) ? found : by_code;
}

absl::string_view ReasonByType(absl::string_view type) {
  const absl::string_view last = type.substr(type.rfind('.') + 1);
  for (const Row& row : kTypes) {
    if (last == row.text) return row.reason;
  }
  return "";
}

Evidence EvidenceOf(absl::string_view reason) {
  if (reason == reason::kDeviceFault) return Evidence::kHardware;
  const bool is_of_a_peer = reason == reason::kCollectiveTimeout || reason == reason::kPeerConnectionLost;
  return is_of_a_peer ? Evidence::kConsequence : Evidence::kOwn;
}

}  // namespace muster
