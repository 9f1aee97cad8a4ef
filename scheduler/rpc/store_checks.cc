#include "scheduler/rpc/store_checks.h"

#include <variant>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/store_limits.h"
#include "scheduler/rpc/field_checks.h"

namespace muster::scheduler {
namespace {

absl::Status CheckCaller(const v1::StoreCaller& caller) {
  if (absl::Status status = CheckId("job_id", caller.job_id()); !status.ok()) return status;
  if (absl::Status status = CheckId("node_id", caller.node_id()); !status.ok()) return status;
  if (caller.run() != 0 && caller.round() != 0 && caller.incarnation() != 0) return absl::OkStatus();
  return absl::InvalidArgumentError("a request names the run, the round and the incarnation that it is of");
}

absl::Status CheckLifetime(v1::ValueLifetime lifetime) {
  if (lifetime == v1::LIFETIME_ROUND || lifetime == v1::LIFETIME_RUN) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("lifetime is ", static_cast<int>(lifetime), "; expected LIFETIME_ROUND or LIFETIME_RUN"));
}

absl::Status CheckRest(const v1::StoreGet& /*request*/) { return absl::OkStatus(); }
absl::Status CheckRest(const v1::StoreDelete& /*request*/) { return absl::OkStatus(); }
absl::Status CheckRest(const v1::StoreWait& request) {
  return CheckRange("limit_ms", request.limit_ms(), 0, kLongestStoreWaitMs);
}
absl::Status CheckRest(const v1::StoreSet& request) {
  if (absl::Status status = CheckStoreValue(request.value()); !status.ok()) return status;
  return CheckLifetime(request.lifetime());
}
absl::Status CheckRest(const v1::StoreAdd& request) { return CheckLifetime(request.lifetime()); }
absl::Status CheckRest(const v1::StoreSwap& request) {
  if (absl::Status status = CheckStoreValue(request.expected()); !status.ok()) return status;
  if (absl::Status status = CheckStoreValue(request.desired()); !status.ok()) return status;
  return CheckLifetime(request.lifetime());
}

}  // namespace

absl::Status CheckStoreOperation(const StoreOperation& operation) {
  return std::visit(
      [](const auto& request) {
        if (absl::Status status = CheckCaller(request.caller()); !status.ok()) return status;
        if (absl::Status status = CheckStoreKey(request.key()); !status.ok()) return status;
        return CheckRest(request);
      },
      operation);
}

const v1::StoreCaller& CallerOf(const StoreOperation& operation) {
  return std::visit([](const auto& request) -> const v1::StoreCaller& { return request.caller(); }, operation);
}

size_t BytesOf(const StoreOperation& operation) {
  return std::visit([](const auto& request) { return request.ByteSizeLong(); }, operation);
}

}  // namespace muster::scheduler
