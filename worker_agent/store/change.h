// Functions on the changes that an agent requests from the job's store. Pure.
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

// Returns the operation's key; empty for a batch.
std::string KeyOf(const StoreOperation& operation);

// Checks the sizes of key and value. INVALID_ARGUMENT: one is beyond its limit.
absl::Status CheckChange(const StoreOperation& change);

// True if the change may still be sent after its caller got DEADLINE_EXCEEDED. That is so for a Set and a Delete: their
// result does not depend on the key's value before.
bool MayGoLate(const StoreOperation& change);

// Returns the value that the key will have after the change, if that is known without the scheduler's answer. The outer
// nullopt: not known. The inner one: the key will not exist.
std::optional<std::optional<std::string>> Foreseen(const StoreOperation& change);
// Returns the key's value after the change, from the scheduler's answer; nullopt: the key does not exist.
std::optional<std::string> Resulting(const StoreOperation& change, const v1::StoreReply& reply);

// Decides how many of the waiting changes, in their order, go into one batch. A batch may contain Sets, Deletes and
// swaps that expect the key not to exist (CompareAndSet), each of a different key.
class BatchRoom {
 public:
  // Adds a change of `bytes`. Returns false if it can't be in the batch, which then ends before it: don't call this
  // again.
  bool Takes(const StoreOperation& change, size_t bytes);

 private:
  std::set<std::string> keys_;
  size_t bytes_ = 0;
};

// Returns the change as a part of a batch. BatchRoom must have taken it.
v1::StoreEdit EditOf(const StoreOperation& change);

}  // namespace muster::agent
