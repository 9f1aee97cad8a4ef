// The interface of a job's key-value store, for gateways that speak a framework's own protocol. The scheduler keeps the
// values in its journal. An agent's store fetches values when they are asked for, and keeps copies to answer reads
// while the scheduler is away.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace muster {

// A value's lifetime.
enum class Lifetime {
  kRound,  // until the next round: for data that belongs to this round, such as addresses of its processes
  kRun,    // until the run ends
};

// Thread-safe. No call blocks. The store calls `done` exactly once, on a thread of its choice, possibly before the call
// returns; `done` must not block. Calls of one caller take effect in the order in which they were made. All calls can
// give these errors:
//   kInvalidArgument    a key or value exceeds its limit (common/base/limits.h), or the key is empty
//   kResourceExhausted  the job's store is full, or too many calls wait for the scheduler
//   kUnavailable        the scheduler is away, and this store has no copy of the value
//   kFailedPrecondition the caller's round is over
//   kDeadlineExceeded   no answer came in time
class JobStore {
 public:
  using ValueDone = std::function<void(absl::StatusOr<std::optional<std::string>> value)>;
  using NumberDone = std::function<void(absl::StatusOr<std::int64_t> number)>;
  using Done = std::function<void(absl::Status status)>;
  struct Listing {
    std::vector<std::pair<std::string, std::string>> entries;  // key and value, in the order of the keys
    bool has_more = false;                                     // ask again, with `after` set to the last of these keys
  };
  using ListDone = std::function<void(absl::StatusOr<Listing> listing)>;

  virtual ~JobStore() = default;

  // Gives `done` the value; std::nullopt if the key does not exist.
  virtual void Get(const std::string& key, ValueDone done) = 0;

  // As Get, but waits until the key exists: for at most `limit`, and at most 5 s (kMaxStoreWaitMs). kDeadlineExceeded
  // if it does not exist by then.
  virtual void Wait(const std::string& key, std::chrono::milliseconds limit, ValueDone done) = 0;

  // Replaces the value. `done` is called when the new value is durable.
  virtual void Set(const std::string& key, const std::string& value, Lifetime lifetime, Done done) = 0;

  // Deletes a key. A missing key is no error.
  virtual void Delete(const std::string& key, Done done) = 0;

  // Adds `delta` to the decimal number under the key, and gives `done` the sum. A missing key counts as 0.
  // kInvalidArgument if the value is no number, or if the sum overflows.
  virtual void Add(const std::string& key, std::int64_t delta, Lifetime lifetime, NumberDone done) = 0;

  // Stores `desired` if the key's value is `expected` (std::nullopt: the key does not exist). Gives `done` the value
  // that the key has afterwards.
  virtual void CompareAndSet(const std::string& key, const std::optional<std::string>& expected,
                             const std::string& desired, Lifetime lifetime, ValueDone done) = 0;

  // Gives `done` the keys that begin with `prefix`, with their values, in their order. Unless `after` is empty, only
  // keys after it. At most `most` keys (0: as many as fit into one answer). Never answered from a copy.
  virtual void List(const std::string& prefix, const std::string& after, std::uint32_t most, ListDone done) = 0;

  // Runs `steps`, which must not block. The store may combine the calls that `steps` makes into one message. That
  // costs the scheduler less, and has no other effect.
  virtual void Together(const std::function<void()>& steps) { steps(); }

  // Reads after this call see every change that any process made before the store's last answer. So after a barrier,
  // each process sees what the others wrote before the barrier.
  virtual void Refresh() {}
};

}  // namespace muster
