// The changes that an agent asks of its job's store, and the outcome of each kind. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "muster/v1/store.pb.h"

namespace muster::agent {

using StoreOperation = std::variant<v1::StoreSet, v1::StoreGet, v1::StoreWait, v1::StoreDelete, v1::StoreAdd,
                                    v1::StoreCompareAndSet, v1::StoreList, v1::StoreBatch>;

// Empty for a batch.
std::string KeyOf(const StoreOperation& operation);

// INVALID_ARGUMENT: a key or value beyond its limit.
absl::Status CheckChange(const StoreOperation& change);

// True if it may go out after its caller got DEADLINE_EXCEEDED: its outcome does not depend on when it is made.
bool MayGoLate(const StoreOperation& change);

// Returns the key's value once the change is made, as far as that is known without the answer.
std::optional<std::optional<std::string>> Foreseen(const StoreOperation& change);
// Returns the key's value after the change, by its answer.
std::optional<std::string> Resulting(const StoreOperation& change, const v1::StoreReply& reply);

// The changes, in their order, that go into one batch: Sets, Deletes, and swaps that want the key not to be there, each
// of another key.
class BatchRoom {
 public:
  // True if a change of `bytes` still goes in. Once it is false, it has no room for any other.
  bool Takes(const StoreOperation& change, size_t bytes);

 private:
  std::set<std::string> keys_;
  size_t bytes_ = 0;
};

// Returns a change as a part of a batch that takes it.
v1::StoreEdit EditOf(const StoreOperation& change);

}  // namespace muster::agent
