// The reason for a failure, as one word for programs: Cause.reason. Stable, and listed in docs/errors.md. An
// agent reports it for a process that it could not start, the scheduler for everything that ended. Empty if it is not
// known, or if the kind of the cause says it all.
#pragma once

#include "absl/strings/string_view.h"

namespace muster::reason {

inline constexpr absl::string_view kAborted = "aborted";
inline constexpr absl::string_view kAgentEnded = "agent_ended";  // a node's agent, and its processes with it
inline constexpr absl::string_view kArithmeticError = "arithmetic_error";
inline constexpr absl::string_view kBadPath = "bad_path";
inline constexpr absl::string_view kBusError = "bus_error";
inline constexpr absl::string_view kCannotStart = "cannot_start";
inline constexpr absl::string_view kCollectiveTimeout = "collective_timeout";
inline constexpr absl::string_view kCommandNotFound = "command_not_found";
inline constexpr absl::string_view kCommandTooLong = "command_too_long";
inline constexpr absl::string_view kDamagedFile = "damaged_file";
inline constexpr absl::string_view kDeviceBusy = "device_busy";
inline constexpr absl::string_view kDeviceFault = "device_fault";  // of the hardware, or of the link between devices
inline constexpr absl::string_view kDeviceKernelFailed = "device_kernel_failed";
inline constexpr absl::string_view kDeviceMissing = "device_missing";
inline constexpr absl::string_view kDeviceOutOfMemory = "device_out_of_memory";
inline constexpr absl::string_view kDiskFull = "disk_full";
inline constexpr absl::string_view kDuplicateDevice = "duplicate_device";  // two ranks use one
inline constexpr absl::string_view kExecFormatError = "exec_format_error";
inline constexpr absl::string_view kHostNotResolved = "host_not_resolved";
inline constexpr absl::string_view kIllegalInstruction = "illegal_instruction";
inline constexpr absl::string_view kInterfaceNotFound = "interface_not_found";
inline constexpr absl::string_view kIoError = "io_error";  // of a disk or a file server
inline constexpr absl::string_view kKilledFromOutside = "killed_from_outside";
inline constexpr absl::string_view kLibraryMismatch = "library_mismatch";
inline constexpr absl::string_view kMissingFile = "missing_file";
inline constexpr absl::string_view kMissingLibrary = "missing_library";
inline constexpr absl::string_view kMissingModule = "missing_module";
inline constexpr absl::string_view kNetworkUnreachable = "network_unreachable";
inline constexpr absl::string_view kNodeLost = "node_lost";  // the node is silent
inline constexpr absl::string_view kOutOfMemory = "out_of_memory";
inline constexpr absl::string_view kPeerConnectionLost = "peer_connection_lost";
inline constexpr absl::string_view kPermissionDenied = "permission_denied";
inline constexpr absl::string_view kPortInUse = "port_in_use";
inline constexpr absl::string_view kProgramBusy = "program_busy";
inline constexpr absl::string_view kPythonException = "python_exception";
inline constexpr absl::string_view kRankTableInvalid = "rank_table_invalid";
inline constexpr absl::string_view kRanksDiffer = "ranks_differ";
inline constexpr absl::string_view kReadOnlyFileSystem = "read_only_file_system";
inline constexpr absl::string_view kResourceLimit = "resource_limit";
inline constexpr absl::string_view kSegmentationFault = "segmentation_fault";
inline constexpr absl::string_view kServerUnreachable = "server_unreachable";  // one outside the job
inline constexpr absl::string_view kSharedMemoryFull = "shared_memory_full";
inline constexpr absl::string_view kTooManyOpenFiles = "too_many_open_files";
inline constexpr absl::string_view kWrongSettings = "wrong_settings";

inline constexpr size_t kMaxBytes = 32;  // longer than any word here: newer programs have others

}  // namespace muster::reason
