// What an agent asks of its job's store, and what each kind of change comes to. Pure.
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

// It may go out after its caller was told that it takes long: what it comes to does not depend on when.
bool MayGoLate(const StoreOperation& change);

// What the key holds once the change is made, as far as that can be told without the answer.
std::optional<std::optional<std::string>> Foreseen(const StoreOperation& change);
// What the key held after the change, by its answer.
std::optional<std::string> Resulting(const StoreOperation& change, const v1::StoreReply& reply);

// Which changes, one after the other, go into one batch: Sets, Deletes, and swaps that want the key not to be there,
// each of another key.
class BatchRoom {
 public:
  // Of `bytes`. Once it is false, it has no room for any other.
  bool Takes(const StoreOperation& change, size_t bytes);

 private:
  std::set<std::string> keys_;
  size_t bytes_ = 0;
};

// A change as a part of a batch that takes it.
v1::StoreEdit EditOf(const StoreOperation& change);

}  // namespace muster::agent
