// Sorts the reasons of failures by what has to be looked at: the script, a device, the network. Pure.
#pragma once

#include "absl/strings/string_view.h"
#include "muster/v1/types.pb.h"

namespace muster {

enum class FailureKind { kUnknown, kScript, kData, kDevice, kNetwork, kStorage, kMemory, kOperator, kStall };

FailureKind KindOf(const v1::Cause& cause);

// Returns "script", "data", "device", "network", "storage", "memory", "operator", "stall" or "unknown".
absl::string_view KindWord(FailureKind kind);

// True if the failure shows a fault of the node's own hardware or file systems, so that another try there fails, too.
bool ShowsBadNode(const v1::Cause& cause);

// True if the failure may come from the node: three of them there within an hour are no chance. Never a failure of the
// script, its data or its memory, or an operator's.
bool MayComeFromNode(const v1::Cause& cause);

// True if the node should be checked again (--node_check) before it takes part in the next round: one of its processes
// failed by its devices, network or file systems, or for an unknown reason.
bool CallsForNodeCheck(const v1::Cause& cause);

}  // namespace muster
