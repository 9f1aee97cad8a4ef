// The interface of a job's key-value store, for the gateways that speak a framework's own protocol. The scheduler keeps
// the values in its journal. An agent's store fetches on demand and keeps a copy, so that it can answer reads while the
// scheduler is away.
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
  kRound,  // until the next round: for names of processes or communicators of this round
  kRun,    // until the run ends
};

// Thread-safe. No call blocks. The store calls `done` exactly once, on a thread of its choice, possibly before the call
// returns; `done` must not block. Calls of one caller take effect in the order in which they were made. Errors, the
// same for all calls:
//   kInvalidArgument    a key or value beyond its limit (common/base/limits.h), or an empty key
//   kResourceExhausted  the job's store is full, or too many calls wait for the scheduler
//   kUnavailable        the scheduler is away and this store has no copy
//   kFailedPrecondition the caller's round is over
//   kDeadlineExceeded   no answer in time
class JobStore {
 public:
  using ValueDone = std::function<void(absl::StatusOr<std::optional<std::string>> value)>;
  using NumberDone = std::function<void(absl::StatusOr<std::int64_t> number)>;
  using Done = std::function<void(absl::Status status)>;
  struct Listing {
    std::vector<std::pair<std::string, std::string>> entries;  // key and value, in the order of the keys
    bool has_more = false;                                     // ask again, after the last of these
  };
  using ListDone = std::function<void(absl::StatusOr<Listing> listing)>;

  virtual ~JobStore() = default;

  // Gives the value; std::nullopt if there is no such key.
  virtual void Get(const std::string& key, ValueDone done) = 0;

  // As Get, but waits until the key is there, for at most `limit` and at most 5 s (kMaxStoreWaitMs); then
  // kDeadlineExceeded.
  virtual void Wait(const std::string& key, std::chrono::milliseconds limit, ValueDone done) = 0;

  // Replaces the value. Done when the new value is durable.
  virtual void Set(const std::string& key, const std::string& value, Lifetime lifetime, Done done) = 0;

  // Deletes a key. A missing key is no error.
  virtual void Delete(const std::string& key, Done done) = 0;

  // Adds to the decimal number that the key holds (0 if it is missing) and gives the sum. kInvalidArgument if the value
  // is no number or the sum overflows.
  virtual void Add(const std::string& key, std::int64_t delta, Lifetime lifetime, NumberDone done) = 0;

  // Stores `desired` if the key holds `expected` (std::nullopt: is missing); gives what the key holds afterwards.
  virtual void CompareAndSet(const std::string& key, const std::optional<std::string>& expected,
                             const std::string& desired, Lifetime lifetime, ValueDone done) = 0;

  // Gives the keys that begin with `prefix` and come after `after` if that is not empty; at most `most` of them (0: as
  // many as one answer takes). Never answered from a copy.
  virtual void List(const std::string& prefix, const std::string& after, std::uint32_t most, ListDone done) = 0;

  // The store may send the calls made in `steps` together. That is cheaper for the scheduler, and changes nothing else.
  // `steps` must not block.
  virtual void Together(const std::function<void()>& steps) { steps(); }

  // After this call, reads see every change made anywhere before any answer that this store has given so far. So after
  // a barrier each process sees what the others wrote before it.
  virtual void Refresh() {}
};

}  // namespace muster
