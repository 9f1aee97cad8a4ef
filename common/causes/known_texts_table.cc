// The rows. If a text matches several rows, the first one counts. So the rows for hardware come first, then those for
// what a machine or an installation lacks, special texts before general ones, and last the consequences of another
// process's end.
//
// A comment above each group says where its texts come from: a project's file, the manual of an error code, or a public
// issue. Rows are in lower case. Each text has one possible cause only; ambiguous texts ("unhandled cuda error",
// "EI9999", "CUBLAS_STATUS_NOT_INITIALIZED") are left out. kException is for texts that programs also log when they go
// on: a sample that a data loader leaves out, a server that a program can do without.
#include "common/causes/known_texts_table.h"

#include <array>

#include "common/base/reason.h"

namespace muster {
namespace {

constexpr TextPlace kLine = TextPlace::kLine;
constexpr TextPlace kException = TextPlace::kException;

constexpr std::array kTexts = std::to_array<KnownText>({
    // CUDA: cudaGetErrorString and the names of cuda.h; NVML: nvmlErrorString; the kernel driver's Xid 79
    {"uncorrectable ecc error encountered", reason::kDeviceFault},  // sgl-project/sglang#3204, vllm-project/vllm#5222
    {"cuda_error_ecc_uncorrectable", reason::kDeviceFault},         // nagadit/DeepFaceLab_Linux#89
    {"uncorrectable nvlink error", reason::kDeviceFault},
    {"nvlink or a hardware error", reason::kDeviceFault},
    {"cuda error: hardware stack error", reason::kDeviceFault},
    {"gpu is lost", reason::kDeviceFault},             // JosephKJ/OWOD#81
    {"has fallen off the bus", reason::kDeviceFault},  // NVIDIA/open-gpu-kernel-modules#507
    {"unable to determine the device handle for gpu", reason::kDeviceFault, kLine, "unknown error"},  // nvidia-smi
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
    // CANN: rt_error_codes.h, as torch_npu's NPUException.h prints it; hicann/runtime: the map of its error codes
    {"error code is 507053", reason::kDeviceFault},  // a memory error that the device can't correct
    {"error code is 507054", reason::kDeviceFault},  // several wrong bits in HBM
    {"error code is 507056", reason::kDeviceFault},  // the link between two devices
    {"device local mem error", reason::kDeviceFault},

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
    {"inotify watch limit reached", reason::kResourceLimit},  // watchdog: observers/inotify_c.py
    {"no space left on device", reason::kDiskFull},
    {"disk quota exceeded", reason::kDiskFull},
    {"database or disk is full", reason::kDiskFull, kException},  // SQLite: src/main.c
    {"read-only file system", reason::kReadOnlyFileSystem},
    {"stale file handle", reason::kStorageFault},
    {"stale nfs file handle", reason::kStorageFault},
    {"structure needs cleaning", reason::kIoError},
    {"transport endpoint is not connected: '", reason::kIoError, kException},  // with a path: about a file
    {"cannot send after transport endpoint shutdown", reason::kIoError},       // Lustre
    {"remote i/o error", reason::kIoError},
    {"[errno 5] input/output error", reason::kIoError},
    {"operationalerror: disk i/o error", reason::kIoError, kException},  // SQLite: src/main.c
    {"[errno 74] bad message: '", reason::kIoError},      // a wrong checksum: Linux, EFSBADCRC of ext4, XFS and F2FS
    {"[errno 37] no locks available", reason::kIoError},  // NFS without its lock manager
    {"[errno 126] required key not available", reason::kPermissionDenied},  // NFS, Kerberos; an encrypted folder
    {"[errno 127] key has expired", reason::kPermissionDenied},
    // glibc: elf/dl-load.c; a folder that is mounted with noexec
    {"failed to map segment from shared object: operation not permitted", reason::kPermissionDenied},
    {"too many levels of symbolic links", reason::kBadPath},
    {"file name too long", reason::kBadPath},
    {"argument list too long", reason::kCommandTooLong},
    {"file too large", reason::kResourceLimit, kException, "[errno 27]"},
    {"too many open files", reason::kTooManyOpenFiles},
    // torch/multiprocessing/reductions.py, through multiprocessing.reduction: pytorch/pytorch#973
    {"received 0 items of ancdata", reason::kTooManyOpenFiles},
    // CPython: Modules/_threadmodule.c; OpenBLAS: driver/others/blas_server.c; libgomp: team.c
    {"can't start new thread", reason::kResourceLimit},
    {"openblas blas_thread_init: pthread_create failed", reason::kResourceLimit},
    {"libgomp: thread creation failed", reason::kResourceLimit},
    {"resource temporarily unavailable", reason::kResourceLimit, kException, "fork"},
    // Bash: jobs.c; libstdc++: std::thread; LLVM's OpenMP: runtime/src/i18n/en_US.txt; LMDB: libraries/liblmdb/mdb.c
    {"fork: resource temporarily unavailable", reason::kResourceLimit},
    {"what():  resource temporarily unavailable", reason::kResourceLimit},
    {"std::system_error: resource temporarily unavailable", reason::kResourceLimit, kException},
    {"omp: error #34", reason::kResourceLimit},
    {"mdb_map_full: ", reason::kResourceLimit},
    {"mdb_readers_full: ", reason::kResourceLimit},

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
    // XLA for TPUs: tensorflow/tpu#385, pytorch/xla#1735
    {"ran out of memory in memory space hbm", reason::kDeviceOutOfMemory},
    {"that was not possible. there are ", reason::kDeviceOutOfMemory, kLine, "attempting to "},
    // cuSOLVER and hipBLAS: names of their status codes; vLLM: v1/core/kv_cache_utils.py, v1/worker/gpu_worker.py
    {"cusolver_status_alloc_failed", reason::kDeviceOutOfMemory},
    {"hipblas_status_alloc_failed", reason::kDeviceOutOfMemory},
    {"no available memory for the cache blocks", reason::kDeviceOutOfMemory},
    {"is less than desired gpu memory utilization", reason::kDeviceOutOfMemory},
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
    // CUDA and HIP: cudaGetErrorString, hipGetErrorString; cuBLAS and cuDNN: names of their status codes
    {"ptx was compiled with an unsupported toolchain", reason::kLibraryMismatch},
    {"ptx jit compiler library not found", reason::kMissingLibrary},
    {"device kernel image is invalid", reason::kLibraryMismatch},
    {"error: invalid device function", reason::kLibraryMismatch},
    {"cuda driver is a stub library", reason::kLibraryMismatch, kException},
    {"cublas_status_arch_mismatch", reason::kLibraryMismatch},
    {"cudnn_status_arch_mismatch", reason::kLibraryMismatch, kException},
    // PyTorch: torch/utils/cpp_extension.py; torchvision and torchaudio: extension.py; FlashAttention: flash_api.cpp
    {"mismatches the version that was used to compile", reason::kLibraryMismatch},
    {"were compiled with different cuda ", reason::kLibraryMismatch, kException},
    {"operator torchvision::nms does not exist", reason::kLibraryMismatch, kException},
    {"flashattention only supports ampere", reason::kLibraryMismatch, kException},
    // JAX: jax/_src/lib/__init__.py; XLA: stream_executor/cuda/cuda_dnn.cc
    {"is newer than and incompatible with jax", reason::kLibraryMismatch},
    {"loaded runtime cudnn library: ", reason::kLibraryMismatch, kLine, " but source was compiled with"},
    // NumPy: _core/code_generators/generate_numpy_api.py; LLVM's OpenMP: runtime/src/i18n/en_US.txt
    {"module compiled against abi version", reason::kLibraryMismatch},
    {"omp: error #15", reason::kLibraryMismatch},  // two copies of the library in one process
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
    {"no visible gpu devices", reason::kDeviceMissing, kException},                   // XLA
    {"failed to initialize nvml: unknown error", reason::kDeviceMissing},  // NVIDIA/nvidia-container-toolkit#48
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
    {"hsa_status_error_memory_aperture_violation", reason::kDeviceKernelFailed},
    {"cuda error: invalid program counter", reason::kDeviceKernelFailed},  // CUDA: cudaGetErrorString
    {"operation not supported on global/shared address space", reason::kDeviceKernelFailed},
    {"there is an aicore error", reason::kDeviceKernelFailed},  // CANN's runtime
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
    {"could not resolve host: ", reason::kHostNotResolved},         // curl: lib/hostip.c, and git with it
    {"nameresolutionerror", reason::kHostNotResolved, kException},  // urllib3: exceptions.py
    {"address already in use", reason::kPortInUse},
    {"eaddrinuse", reason::kPortInUse},
    // botocore: exceptions.py, and the codes of S3; google-auth: _default.py; google-cloud-storage; wandb:
    // sdk/wandb_login.py
    {"could not connect to the endpoint url", reason::kServerUnreachable, kException},
    {"unable to locate credentials", reason::kPermissionDenied, kException},
    {"an error occurred (accessdenied", reason::kPermissionDenied, kException},
    {"an error occurred (403) when calling", reason::kPermissionDenied, kException},
    {"an error occurred (expiredtoken", reason::kPermissionDenied, kException},
    {"an error occurred (invalidaccesskeyid)", reason::kPermissionDenied, kException},
    {"an error occurred (404) when calling", reason::kMissingFile, kException},
    {"the specified bucket does not exist", reason::kMissingFile, kException},
    {"the specified key does not exist", reason::kMissingFile, kException},
    {"your default credentials were not found", reason::kPermissionDenied, kException},
    {" does not have storage.objects.", reason::kPermissionDenied, kException},
    {"api_key not configured", reason::kPermissionDenied, kException},
    // aiohttp: client_exceptions.py; urllib3: connectionpool.py; redis-py: connection.py; CPython: Lib/socket.py
    {"cannot connect to host ", reason::kServerUnreachable, kException},
    {"connectionpool(host=", reason::kServerUnreachable, kException, "read timed out"},
    {"error 111 connecting to ", reason::kServerUnreachable, kException},
    {"[errno 111] connection refused", reason::kServerUnreachable, kException},
    // transformers: utils/; requests and urllib3; huggingface_hub: file_download.py
    {"cannot find the requested files in the local cache", reason::kServerUnreachable, kException},
    {"outgoing traffic has been disabled", reason::kMissingFile, kException},
    {"is not a local folder and is not a valid model identifier", reason::kMissingFile, kException},
    {"we couldn't connect to 'http", reason::kServerUnreachable, kException},
    {"max retries exceeded with url", reason::kServerUnreachable, kException},
    {"cannot access gated repo", reason::kPermissionDenied, kException},
    {"no route to host", reason::kNetworkUnreachable},
    {"network is unreachable", reason::kNetworkUnreachable},
    {"ibv_modify_qp failed with", reason::kNetworkUnreachable, kLine, "connection timed out"},  // NVIDIA/nccl#2013

    // PyTorch: caffe2/serialize/inline_container.cc, torch/csrc/serialization.cpp; safetensors: safetensors#668,
    // 1230young/bizgen#15; CPython: Modules/_pickle.c
    {"pytorchstreamreader failed reading", reason::kDamagedFile},
    {"the file might be corrupted", reason::kDamagedFile, kException},
    {"error while deserializing header", reason::kDamagedFile},
    {"invalid load key", reason::kDamagedFile, kException},
    {"pickle data was truncated", reason::kDamagedFile, kException},
    {"eoferror: ran out of input", reason::kDamagedFile, kException},
    // Pillow: src/PIL/Image.py, ImageFile.py; Arrow: parquet/file_reader.cc, parquet/thrift_internal.h,
    // util/compression_snappy.cc; HDF5: src/H5Fsuper.c
    {"cannot identify image file", reason::kDamagedFile, kException},
    {"image file is truncated", reason::kDamagedFile, kException},
    {"parquet magic bytes not found", reason::kDamagedFile, kException},
    {"couldn't deserialize thrift: ", reason::kDamagedFile, kException, "invalid data"},
    {"couldn't deserialize thrift: ", reason::kDamagedFile, kException, "no more data to read"},
    {"corrupt snappy compressed data", reason::kDamagedFile, kException},
    {"(truncated file: eof = ", reason::kDamagedFile, kException},
    {"(file signature not found)", reason::kDamagedFile, kException},
    // CPython: Lib/_compression.py, tarfile.py, Modules/zlibmodule.c, mmapmodule.c
    {"ended before the end-of-stream marker was reached", reason::kDamagedFile, kException},
    {"error -3 while decompressing data", reason::kDamagedFile, kException},
    {"error -5 while decompressing data", reason::kDamagedFile, kException},
    {"readerror: unexpected end of data", reason::kDamagedFile, kException},
    {"mmap length is greater than file size", reason::kDamagedFile, kException},
    {"cannot mmap an empty file", reason::kDamagedFile, kException},
    // NumPy: lib/_format_impl.py; SQLite: src/main.c; LMDB: libraries/liblmdb/mdb.c
    {"failed to read all data for array", reason::kDamagedFile, kException},
    {"database disk image is malformed", reason::kDamagedFile},
    {"mdb_corrupted: ", reason::kDamagedFile},
    {"mdb_invalid: ", reason::kDamagedFile},

    {"out of memory. memory malloc failed", reason::kOutOfMemory},  // MindSpore
    {"cannot allocate memory", reason::kOutOfMemory},               // the C library
    {"can't allocate memory", reason::kOutOfMemory},                // c10/core/impl/alloc_cpu.cpp
    {"std::bad_alloc", reason::kOutOfMemory},
    // NumPy: _core/_exceptions.py; Linux: mm/oom_kill.c; Slurm's lines, as nextflow-io/nextflow#5932 and
    // hafs-community/HAFS#101 quote them
    {"unable to allocate ", reason::kOutOfMemory, kException, "for an array with shape"},
    {"out of memory: killed process", reason::kOutOfMemory},
    {"oom_kill event", reason::kOutOfMemory, kLine, " in stepid="},
    {"oom-kill event(s) in step ", reason::kOutOfMemory},
    {"srun: error: ", reason::kOutOfMemory, kLine, ": out of memory"},

    {"no module named ", reason::kMissingModule},
    {"cannot open shared object file", reason::kMissingLibrary},
    {"can't open file '", reason::kMissingFile},  // Python without its script

    // TensorFlow: core/platform/cpu_feature_guard.cc
    {"instructions, but these aren't available on your machine", reason::kIllegalInstruction},

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
    // PyTorch: torch/csrc/distributed/c10d/reducer.cpp; gloo: transport/tcp/pair.cc; NCCL: src/bootstrap.cc,
    // transport/net_socket.cc
    {"appears not to match sizes of the same param in process 0", reason::kRanksDiffer},
    {"received data size doesn't match expected size", reason::kRanksDiffer, kException},
    {"message truncated : receiv", reason::kRanksDiffer},

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
    // NCCL: src/misc/socket.cc; UCX: src/uct/ib/mlx5/ib_mlx5_log.c; Ray: rpc_client.h
    {"socketpollconnect: connect", reason::kPeerConnectionLost, kLine, "connection refused"},
    {": call to recv from ", reason::kPeerConnectionLost, kLine, " failed : "},
    {"transport retry count exceeded on ", reason::kPeerConnectionLost},
    {"gcs may have been killed", reason::kPeerConnectionLost},
    // JAX: jax-ml/jax#23599, #39095; torch_npu: NPUException.h
    {"heartbeat timeout. this indicates that the remote task has failed", reason::kPeerConnectionLost},
    {"failed to send rpc to coordination service", reason::kPeerConnectionLost},
    {"this most likely indicates that another task died", reason::kPeerConnectionLost},
    {"reason=[suspect remote error]", reason::kPeerConnectionLost},
    {"reason=suspect remote error", reason::kPeerConnectionLost},
    {"reason=[hccl op retry failed]", reason::kPeerConnectionLost},
    // CANN: rt_error_codes.h. The memory of another process's device is faulty, and that process reports it.
    {"suspect device mem error", reason::kPeerConnectionLost},
    {"error code is 507055", reason::kPeerConnectionLost, kException},

    {": no such file or directory", reason::kMissingFile},
});

// Error codes of CANN and HCCL, from hcomm's error_info_list, CANN's manual of error codes and MindSpore's
// tutorials/debug/error_analysis. Programs write them as "EI0002:" or "(EI0002)".
constexpr std::array kCodes = std::to_array<KnownText>({
    {"el0004", reason::kDeviceOutOfMemory},
    {"ei0007", reason::kDeviceOutOfMemory},
    {"ei0011", reason::kDeviceOutOfMemory},
    {"ej0001", reason::kDeviceBusy},
    {"ej0003", reason::kPortInUse},
    {"ei0019", reason::kPortInUse},
    {"ei0020", reason::kPortInUse},
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

// Types of CPython, PyTorch (OutOfMemoryError), Pillow (UnidentifiedImageError: src/PIL/__init__.py) and TensorFlow
// (DataLossError: python/framework/errors_impl.py, for damaged records and checkpoints).
constexpr std::array kTypes = std::to_array<KnownText>({
    {"ModuleNotFoundError", reason::kMissingModule},
    {"ImportError", reason::kMissingModule},
    {"FileNotFoundError", reason::kMissingFile},
    {"PermissionError", reason::kPermissionDenied},
    {"MemoryError", reason::kOutOfMemory},
    {"OutOfMemoryError", reason::kDeviceOutOfMemory},
    {"ConnectionRefusedError", reason::kServerUnreachable},
    {"BadZipFile", reason::kDamagedFile},
    {"BadGzipFile", reason::kDamagedFile},
    {"UnidentifiedImageError", reason::kDamagedFile},
    {"DataLossError", reason::kDamagedFile},
    {"NotADirectoryError", reason::kBadPath},
});

}  // namespace

absl::Span<const KnownText> KnownTexts() { return kTexts; }

absl::Span<const KnownText> KnownCodes() { return kCodes; }

absl::Span<const KnownText> KnownTypes() { return kTypes; }

}  // namespace muster
