// A cause without a reason is sorted by its kind of end; a reason that is not in the table is of kind unknown.
#include "common/causes/failure_kind.h"

#include <array>

#include "common/base/reason.h"

namespace muster {
namespace {

struct Row {
  absl::string_view reason;
  FailureKind kind;
};

constexpr std::array kRows = std::to_array<Row>({
    {reason::kAgentEnded, FailureKind::kOperator},
    {reason::kArithmeticError, FailureKind::kScript},
    {reason::kBadPath, FailureKind::kScript},
    {reason::kCannotStart, FailureKind::kScript},
    {reason::kCollectiveTimeout, FailureKind::kStall},
    {reason::kCommandNotFound, FailureKind::kScript},
    {reason::kCommandTooLong, FailureKind::kScript},
    {reason::kDamagedFile, FailureKind::kData},
    {reason::kDeviceBusy, FailureKind::kDevice},
    {reason::kDeviceFault, FailureKind::kDevice},
    {reason::kDeviceKernelFailed, FailureKind::kScript},
    {reason::kDeviceMissing, FailureKind::kDevice},
    {reason::kDeviceOutOfMemory, FailureKind::kMemory},
    {reason::kDiskFull, FailureKind::kStorage},
    {reason::kDuplicateDevice, FailureKind::kScript},
    {reason::kExecFormatError, FailureKind::kScript},
    {reason::kHostNotResolved, FailureKind::kNetwork},
    {reason::kInterfaceNotFound, FailureKind::kNetwork},
    {reason::kIoError, FailureKind::kStorage},
    {reason::kKilledFromOutside, FailureKind::kOperator},
    {reason::kLibraryMismatch, FailureKind::kScript},
    {reason::kMissingFile, FailureKind::kData},
    {reason::kMissingLibrary, FailureKind::kScript},
    {reason::kMissingModule, FailureKind::kScript},
    {reason::kNetworkUnreachable, FailureKind::kNetwork},
    {reason::kOutOfMemory, FailureKind::kMemory},
    {reason::kOutputRule, FailureKind::kScript},
    {reason::kPeerConnectionLost, FailureKind::kNetwork},
    {reason::kPermissionDenied, FailureKind::kScript},
    {reason::kPortInUse, FailureKind::kNetwork},
    {reason::kPythonException, FailureKind::kScript},
    {reason::kRankTableInvalid, FailureKind::kScript},
    {reason::kRanksDiffer, FailureKind::kScript},
    {reason::kReadOnlyFileSystem, FailureKind::kStorage},
    {reason::kServerUnreachable, FailureKind::kNetwork},
    {reason::kSharedMemoryFull, FailureKind::kMemory},
    {reason::kStorageFault, FailureKind::kStorage},
    {reason::kWrongSettings, FailureKind::kScript},
});

}  // namespace

FailureKind KindOf(const v1::Cause& cause) {
  switch (cause.kind()) {
    case v1::Cause::NO_PROGRESS:
      return FailureKind::kStall;
    case v1::Cause::STOPPED_BY_USER:
    case v1::Cause::SCHEDULER_STOPPED:
    case v1::Cause::NODE_LEFT:
    case v1::Cause::NODE_REPLACED:
      return FailureKind::kOperator;
    default:
      break;
  }
  for (const Row& row : kRows) {
    if (cause.reason() == row.reason) return row.kind;
  }
  return FailureKind::kUnknown;
}

absl::string_view KindWord(FailureKind kind) {
  switch (kind) {
    case FailureKind::kScript:
      return "script";
    case FailureKind::kData:
      return "data";
    case FailureKind::kDevice:
      return "device";
    case FailureKind::kNetwork:
      return "network";
    case FailureKind::kStorage:
      return "storage";
    case FailureKind::kMemory:
      return "memory";
    case FailureKind::kOperator:
      return "operator";
    case FailureKind::kStall:
      return "stall";
    case FailureKind::kUnknown:
      break;
  }
  return "unknown";
}

bool ShowsBadNode(const v1::Cause& cause) {
  return cause.reason() == reason::kDeviceFault || cause.reason() == reason::kStorageFault;
}

bool MayComeFromNode(const v1::Cause& cause) {
  const FailureKind kind = KindOf(cause);
  // A peer's broken connection says nothing about this node.
  if (cause.reason() == reason::kPeerConnectionLost) return false;
  return kind == FailureKind::kDevice || kind == FailureKind::kNetwork || kind == FailureKind::kStorage ||
         cause.reason() == reason::kBusError || cause.reason() == reason::kSegmentationFault;
}

bool CallsForNodeCheck(const v1::Cause& cause) {
  const bool is_of_process = cause.kind() == v1::Cause::PROCESS_EXITED || cause.kind() == v1::Cause::PROCESS_SIGNALED;
  if (!is_of_process || cause.reason() == reason::kPeerConnectionLost) return false;
  const FailureKind kind = KindOf(cause);
  return kind == FailureKind::kDevice || kind == FailureKind::kNetwork || kind == FailureKind::kStorage ||
         kind == FailureKind::kUnknown;
}

}  // namespace muster
