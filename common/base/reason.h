// The words of Cause.reason: why a process or node failed, as one stable word for programs. An agent sets the word if
// it could not start a process; the scheduler sets it for everything that ended. The word is empty if the reason is not
// known, or if Cause.kind already says everything.
//
// tests/tidy/errors_page.py makes a table of these comments for docs/errors.md, with the advice in kAdvice
// (scheduler/core/facts/diagnosis.cc). If there is no advice, the comment's next sentences say what to do.
#pragma once

#include "absl/strings/string_view.h"

namespace muster::reason {

// The process ended itself by SIGABRT.
inline constexpr absl::string_view kAborted = "aborted";
// The agent of a node was killed or started again, and its processes ended. Find what ended it.
inline constexpr absl::string_view kAgentEnded = "agent_ended";
// SIGFPE ended the process.
inline constexpr absl::string_view kArithmeticError = "arithmetic_error";
// A path is too long, is a loop of symbolic links, or uses a file as a folder.
inline constexpr absl::string_view kBadPath = "bad_path";
// SIGBUS ended the process.
inline constexpr absl::string_view kBusError = "bus_error";
// The command can't be executed.
inline constexpr absl::string_view kCannotStart = "cannot_start";
// NCCL, HCCL, gloo or the store timed out.
inline constexpr absl::string_view kCollectiveTimeout = "collective_timeout";
// The command is not found.
inline constexpr absl::string_view kCommandNotFound = "command_not_found";
// The arguments and the environment are too long.
inline constexpr absl::string_view kCommandTooLong = "command_too_long";
// A file is damaged or cut short.
inline constexpr absl::string_view kDamagedFile = "damaged_file";
// Another process uses the device.
inline constexpr absl::string_view kDeviceBusy = "device_busy";
// The hardware of a device, or of the link between devices, fails.
inline constexpr absl::string_view kDeviceFault = "device_fault";
// A kernel on the device failed.
inline constexpr absl::string_view kDeviceKernelFailed = "device_kernel_failed";
// The process does not see the device.
inline constexpr absl::string_view kDeviceMissing = "device_missing";
// The memory of a GPU or NPU is full.
inline constexpr absl::string_view kDeviceOutOfMemory = "device_out_of_memory";
// A disk is full, or a quota is used up.
inline constexpr absl::string_view kDiskFull = "disk_full";
// Two ranks use one device.
inline constexpr absl::string_view kDuplicateDevice = "duplicate_device";
// The command, or its interpreter, is damaged or for another processor.
inline constexpr absl::string_view kExecFormatError = "exec_format_error";
// A host name has no address.
inline constexpr absl::string_view kHostNotResolved = "host_not_resolved";
// SIGILL ended the process.
inline constexpr absl::string_view kIllegalInstruction = "illegal_instruction";
// A network interface is missing.
inline constexpr absl::string_view kInterfaceNotFound = "interface_not_found";
// A disk or a file server fails.
inline constexpr absl::string_view kIoError = "io_error";
// SIGKILL, SIGTERM or a similar signal ended the process, and neither Muster nor the kernel sent it.
inline constexpr absl::string_view kKilledFromOutside = "killed_from_outside";
// Libraries, driver and device do not fit each other.
inline constexpr absl::string_view kLibraryMismatch = "library_mismatch";
// A file does not exist, or the script itself does not.
inline constexpr absl::string_view kMissingFile = "missing_file";
// A shared library is not found.
inline constexpr absl::string_view kMissingLibrary = "missing_library";
// A Python module is not installed.
inline constexpr absl::string_view kMissingModule = "missing_module";
// There is no route to an address.
inline constexpr absl::string_view kNetworkUnreachable = "network_unreachable";
// The node is silent, or its connection broke.
inline constexpr absl::string_view kNodeLost = "node_lost";
// The kernel killed a process because memory ran out, or an allocation failed.
inline constexpr absl::string_view kOutOfMemory = "out_of_memory";
// A line of its output matched a rule of --fail_on.
inline constexpr absl::string_view kOutputRule = "output_rule";
// The connection to another rank broke, and no process failed with a cause of its own.
inline constexpr absl::string_view kPeerConnectionLost = "peer_connection_lost";
// The process has no permission to use a file.
inline constexpr absl::string_view kPermissionDenied = "permission_denied";
// A port is taken.
inline constexpr absl::string_view kPortInUse = "port_in_use";
// The program's file is still open for writing.
inline constexpr absl::string_view kProgramBusy = "program_busy";
// Python raised an exception that fits no other reason.
inline constexpr absl::string_view kPythonException = "python_exception";
// The rank table breaks a rule.
inline constexpr absl::string_view kRankTableInvalid = "rank_table_invalid";
// The ranks do not run the same operations.
inline constexpr absl::string_view kRanksDiffer = "ranks_differ";
// A file system can only be read.
inline constexpr absl::string_view kReadOnlyFileSystem = "read_only_file_system";
// A limit is reached: processor time, file size, threads or processes.
inline constexpr absl::string_view kResourceLimit = "resource_limit";
// SIGSEGV ended the process.
inline constexpr absl::string_view kSegmentationFault = "segmentation_fault";
// A server outside the job does not answer.
inline constexpr absl::string_view kServerUnreachable = "server_unreachable";
// /dev/shm is full.
inline constexpr absl::string_view kSharedMemoryFull = "shared_memory_full";
// A file system that the process uses has failed under it: a stale file handle of NFS or another file server.
inline constexpr absl::string_view kStorageFault = "storage_fault";
// The limit of open files is reached.
inline constexpr absl::string_view kTooManyOpenFiles = "too_many_open_files";
// A setting contradicts another setting, or does not fit the machine.
inline constexpr absl::string_view kWrongSettings = "wrong_settings";

inline constexpr size_t kMaxBytes = 32;  // every word here is shorter; a newer program may send other words

}  // namespace muster::reason
