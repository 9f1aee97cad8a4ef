// The key-value store of a job, as those who use it see it: the gateways that speak a framework's own
// protocol. The scheduler keeps the values in its journal; an agent's store fetches on demand and keeps
// a copy, so that reads are answered while the scheduler is away.
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

// How long a value is kept.
enum class Lifetime {
  kRound,  // until the next round: what names a process or a communicator of this round
  kRun,    // until the run ends
};

// Thread-safe. No call blocks. `done` is called exactly once, on a thread of the store's choice, possibly
// before the call returns; it must not block. Calls of one caller take effect in the order in which they
// were made. Errors, the same for all calls:
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

  // std::nullopt: no such key.
  virtual void Get(const std::string& key, ValueDone done) = 0;

  // As Get, but waits until the key is there, for at most `limit`, and for at most 5 s (kMaxStoreWaitMs):
  // kDeadlineExceeded when it didn't come.
  virtual void Wait(const std::string& key, std::chrono::milliseconds limit, ValueDone done) = 0;

  // Replaces what is there. Done when the value is durable.
  virtual void Set(const std::string& key, const std::string& value, Lifetime lifetime, Done done) = 0;

  // A key that is not there is no error.
  virtual void Delete(const std::string& key, Done done) = 0;

  // Adds to the decimal number that the key holds (0 when it is not there) and gives the sum.
  // kInvalidArgument when the value is no number or the sum overflows.
  virtual void Add(const std::string& key, std::int64_t delta, Lifetime lifetime, NumberDone done) = 0;

  // Stores `desired` when the key holds `expected` (std::nullopt: is not there); gives what the key
  // holds afterwards.
  virtual void CompareAndSet(const std::string& key, const std::optional<std::string>& expected,
                             const std::string& desired, Lifetime lifetime, ValueDone done) = 0;

  // The keys that begin with `prefix`, behind `after` if it is not empty, `most` of them at most (0: as many as one
  // answer takes). Never of a copy.
  virtual void List(const std::string& prefix, const std::string& after, std::uint32_t most, ListDone done) = 0;

  // What is asked for until `steps` returns may go out together: that is cheaper for the scheduler, and nothing else
  // changes. `steps` must not block.
  virtual void Together(const std::function<void()>& steps) { steps(); }

  // Reads that are asked for from now on see all that had been changed before any answer which this store has given so
  // far, wherever it was changed: so after a barrier each sees what the others wrote before it.
  virtual void Refresh() {}
};

}  // namespace muster
