#include "worker_agent/store/change.h"

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/store/store_limits.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxBatchBytes = 256 * 1024;

bool GoesInBatch(const StoreOperation& change) {
  const auto* swap = std::get_if<v1::StoreCompareAndSet>(&change);
  return std::holds_alternative<v1::StoreSet>(change) || std::holds_alternative<v1::StoreDelete>(change) ||
         (swap != nullptr && !swap->has_expected());
}

}  // namespace

std::string KeyOf(const StoreOperation& operation) {
  return std::visit(
      [](const auto& request) -> std::string {
        if constexpr (requires { request.key(); }) return request.key();
        return "";
      },
      operation);
}

bool BatchRoom::Takes(const StoreOperation& change, size_t bytes) {
  bytes_ += bytes;
  return keys_.size() < kMaxStoreEdits && bytes_ <= kMaxBatchBytes && GoesInBatch(change) &&
         keys_.insert(KeyOf(change)).second;
}

v1::StoreEdit EditOf(const StoreOperation& change) {
  v1::StoreEdit edit;
  edit.set_key(KeyOf(change));
  if (const auto* set = std::get_if<v1::StoreSet>(&change)) {
    edit.set_value(set->value());
    edit.set_lifetime(set->lifetime());
  }
  if (const auto* swap = std::get_if<v1::StoreCompareAndSet>(&change)) {
    edit.set_value(swap->desired());
    edit.set_lifetime(swap->lifetime());
    edit.set_only_new(true);
  }
  return edit;
}

bool MayGoLate(const StoreOperation& change) {
  return std::holds_alternative<v1::StoreSet>(change) || std::holds_alternative<v1::StoreDelete>(change);
}

std::optional<std::optional<std::string>> Foreseen(const StoreOperation& change) {
  if (const auto* set = std::get_if<v1::StoreSet>(&change)) return set->value();
  if (std::holds_alternative<v1::StoreDelete>(change)) return std::optional<std::string>();
  return std::nullopt;
}

std::optional<std::string> Resulting(const StoreOperation& change, const v1::StoreReply& reply) {
  if (const auto foreseen = Foreseen(change)) return *foreseen;
  if (std::holds_alternative<v1::StoreAdd>(change)) return absl::StrCat(reply.number());
  return reply.has_value() ? std::optional<std::string>(reply.value()) : std::nullopt;
}

absl::Status CheckChange(const StoreOperation& change) {
  if (absl::Status status = CheckStoreKey(KeyOf(change)); !status.ok()) return status;
  if (const auto* set = std::get_if<v1::StoreSet>(&change)) return CheckStoreValue(set->value());
  if (const auto* swap = std::get_if<v1::StoreCompareAndSet>(&change)) {
    if (absl::Status status = CheckStoreValue(swap->expected()); !status.ok()) return status;
    return CheckStoreValue(swap->desired());
  }
  return absl::OkStatus();
}

}  // namespace muster::agent
