// Why a process or a node failed, in one word for programs, and what to do about it, for people. Pure.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "muster/v1/types.pb.h"

namespace muster::scheduler {

// Cause.reason: stable, and listed in docs/operators-guide.md. Empty: not known, or the kind says it all.
namespace reason {

inline constexpr absl::string_view kAborted = "aborted";
inline constexpr absl::string_view kAgentEnded = "agent_ended";  // a node's, and its processes with it
inline constexpr absl::string_view kArithmeticError = "arithmetic_error";
inline constexpr absl::string_view kBusError = "bus_error";
inline constexpr absl::string_view kCannotStart = "cannot_start";
inline constexpr absl::string_view kCollectiveTimeout = "collective_timeout";
inline constexpr absl::string_view kCommandNotFound = "command_not_found";
inline constexpr absl::string_view kDeviceOutOfMemory = "device_out_of_memory";
inline constexpr absl::string_view kDiskFull = "disk_full";
inline constexpr absl::string_view kIllegalInstruction = "illegal_instruction";
inline constexpr absl::string_view kKilledFromOutside = "killed_from_outside";
inline constexpr absl::string_view kMissingFile = "missing_file";
inline constexpr absl::string_view kMissingLibrary = "missing_library";
inline constexpr absl::string_view kMissingModule = "missing_module";
inline constexpr absl::string_view kNodeLost = "node_lost";  // nothing is heard of it
inline constexpr absl::string_view kOutOfMemory = "out_of_memory";
inline constexpr absl::string_view kPeerConnectionLost = "peer_connection_lost";
inline constexpr absl::string_view kPermissionDenied = "permission_denied";
inline constexpr absl::string_view kPortInUse = "port_in_use";
inline constexpr absl::string_view kPythonException = "python_exception";
inline constexpr absl::string_view kResourceLimit = "resource_limit";
inline constexpr absl::string_view kSegmentationFault = "segmentation_fault";
inline constexpr absl::string_view kSharedMemoryFull = "shared_memory_full";
inline constexpr absl::string_view kTooManyOpenFiles = "too_many_open_files";

}  // namespace reason

struct Diagnosis {
  absl::string_view reason;
  std::string what;  // for the end of "rank 1 ended with exit code 1: "; empty: nothing more is known
};

// Of a process that failed: `ended` has an exit code, a signal or a launch error.
Diagnosis Diagnose(const v1::ProcessEnded& ended);

// It only says that somebody else did not answer: what that one died of is told rather.
bool IsOfAPeer(absl::string_view reason);

struct RemedyFacts {
  bool recovers = false;        // the run has recovery: what was to come back has been tried
  bool has_given_up = false;    // the restart budget is used up
  std::string waited_for = {};  // "rank 3 on host-b …": whom the others seem to have waited for; empty: not known
};

// What to do about it. Recovery is named only where it would have helped. Empty: nobody has to do anything.
std::string RemedyOf(const v1::Cause& cause, const RemedyFacts& facts);

}  // namespace muster::scheduler
