// An agent's knowledge of its job's store, and its open requests: the copy, the changes that wait, the reads that are
// under way.
//
// Pure, as the agent's core: no I/O, no threads, no clock. One caller at a time. Its orders are in the Effects.
//
// How fresh is a read? A value that was fetched, or changed here, is good for kFreshFor; then it is fetched again. So a
// reader sees another node's change after at most kFreshFor (and the time of one request), and its own node's changes
// at once, also those that still wait for the scheduler. (A Get that is under way may see a Set that is made
// meanwhile.) After Refresh it sees all changes made before: older copies don't count. The absence of a key is never
// kept. While the scheduler is away the copy is as good as it gets; a read of a key that is not in it waits for the
// scheduler's return. Nothing of the copy outlives its round.
//
// Changes go out one after another, in the order in which they were made, each with a number: one whose answer was lost
// is sent again and takes effect once. Those that wait go out together, as one batch, as far as they are Sets, Deletes
// and swaps that want the key not to be there, each of another key; where the scheduler makes none of them, they go out
// one by one. No caller waits for longer than kMaxStoreWaitMs: a Set or Delete that takes longer ends with
// DEADLINE_EXCEEDED and still goes out; an Add or CompareAndSet that has not gone out by then never does (UNAVAILABLE).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/limits.h"
#include "common/store/job_store.h"
#include "muster/v1/store.pb.h"
#include "worker_agent/store/change.h"
#include "worker_agent/store/copied_values.h"

namespace muster::agent {

class StoreCore {
 public:
  static constexpr absl::Duration kFreshFor = absl::Seconds(1);
  // The limit of changes that wait, for callers with endless patience: their gateway bounds what it takes.
  static constexpr size_t kMaxPatientBacklogBytes = 16 * kMaxStoreBacklogBytes;
  static constexpr absl::Duration kPatience = absl::Milliseconds(kMaxStoreWaitMs);

  struct Send {
    uint64_t call = 0;  // never reused
    StoreOperation operation;
  };
  // A change that the scheduler refused after its caller got the answer that it may still be made.
  struct Refused {
    std::string key;
    absl::Status why;
  };
  struct Effects {
    std::vector<Send> sends;
    std::vector<std::function<void()>> callbacks;  // callers' `done`, bound to their answers
    std::vector<Refused> refused;
  };

  // Begins this round, and ends all calls of another one with the answer that it is over. Numbers go on as long as the
  // incarnation is the same. Nothing happens when it is the present round.
  Effects BeginRound(v1::StoreCaller caller);
  // The present round is over.
  Effects EndRound();

  // The scheduler can be asked, or not any more. Either way calls under way count as lost: no reply to them is taken,
  // and they go out again, as long as their callers wait. While it is away a read is answered by the copy, if there is
  // one.
  Effects Connect(MonotonicTime now);
  Effects Disconnect(MonotonicTime now);

  Effects Get(const std::string& key, JobStore::ValueDone done, MonotonicTime now);
  Effects Wait(const std::string& key, absl::Duration limit, JobStore::ValueDone done, MonotonicTime now);
  // A Set, Delete, Add, CompareAndSet or List without caller and number. (A List is no change, but must see those that
  // were asked for before it.)
  // After `patience` the caller gets the answer that it takes long.
  Effects Change(StoreOperation change, std::function<void(absl::StatusOr<v1::StoreReply>)> done, MonotonicTime now,
                 absl::Duration patience = kPatience);

  // Between the two nothing goes out, so that calls made meanwhile go out together. They may be nested.
  void Hold() { ++holds_; }
  Effects Release(MonotonicTime now);

  // No copy that is older than the latest answer is good for a read any more, not even while the scheduler is away, nor
  // an answer that is under way and turns out to be.
  void Refresh();

  // The answer to a Send. UNAVAILABLE, DEADLINE_EXCEEDED and CANCELLED: perhaps it did not arrive.
  Effects Replied(uint64_t call, absl::StatusOr<v1::StoreReply> reply, MonotonicTime now);

  // Must be called every kTick or so, as long as it is not idle.
  static constexpr absl::Duration kTick = absl::Milliseconds(50);
  Effects Tick(MonotonicTime now);
  bool IsIdle() const { return pending_.empty() && gets_.fetches.empty() && waits_.fetches.empty(); }

  // The caller in the present round; null: between two rounds.
  const v1::StoreCaller* caller() const { return is_in_round_ ? &caller_ : nullptr; }

  // The size of the changes that wait, with the overhead to keep them.
  size_t backlog_bytes() const { return backlog_bytes_; }

 private:
  static constexpr size_t kMaxUnderWay = 256;  // of each kind

  struct Reader {
    JobStore::ValueDone done;
    MonotonicTime deadline;
    bool waits = false;       // until the key is there
    bool takes_copy = false;  // rather than nothing, at the deadline
  };
  struct ChangeDone {
    std::function<void(absl::StatusOr<v1::StoreReply>)> done;  // null: was called already
    MonotonicTime deadline;
  };
  struct Pending {
    StoreOperation change;
    std::string key;
    size_t bytes = 0;
    uint64_t number = 0;  // 0: has not gone out yet
    MonotonicTime first_sent;
    ChangeDone caller;
    std::vector<Reader> readers;  // those that need the outcome of it
  };
  // Readers of one key. At most one request for each key and kind is under way.
  struct Fetch {
    uint64_t call = 0;  // 0: waits for its turn
    bool was_asked = false;
    uint64_t at_least = 0;  // an answer of an earlier version would not know of a change from here
    std::vector<Reader> readers;
  };
  using Fetches = std::map<std::string, Fetch>;
  struct Lane {  // requests of one kind
    Fetches fetches;
    std::deque<std::string> turn;           // keys without a call
    std::map<uint64_t, std::string> calls;  // under way: key by call
    MonotonicTime retry_at;                 // no request of this kind before
  };

  void Read(const std::string& key, Reader reader, MonotonicTime now);
  void Join(Lane& lane, const std::string& key, Reader reader);
  void LoseCalls();
  void SendOn(MonotonicTime now);
  void SendChange(MonotonicTime now);
  size_t CountBatch() const;  // of the changes that wait, how many go out together
  void FinishFirst(absl::StatusOr<v1::StoreReply> reply, MonotonicTime now);
  void SendFetches(Lane& lane, MonotonicTime now);
  void FinishFetch(Lane& lane, uint64_t call, const absl::StatusOr<v1::StoreReply>& reply, MonotonicTime now);
  void FinishChange(absl::StatusOr<v1::StoreReply> reply, MonotonicTime now);
  void TakeOut(std::list<Pending>::iterator pending, MonotonicTime now);
  void ExpireReaders(Lane& lane, MonotonicTime now);
  void ExpireChanges(MonotonicTime now);
  void Answer(Reader& reader, absl::StatusOr<std::optional<std::string>> value);
  void End(const std::string& why);
  Effects TakeEffects();

  v1::StoreCaller caller_;
  bool is_in_round_ = false;
  bool is_connected_ = false;
  uint64_t last_call_ = 0;
  uint64_t last_number_ = 0;

  CopiedValues copies_;
  uint64_t latest_ = 0;  // the highest version in an answer

  std::list<Pending> pending_;  // changes, oldest first
  size_t sent_ = 0;             // so many of them have gone out together, and may have been made
  size_t alone_ = 0;            // so many go out one by one
  std::map<std::string, std::deque<std::list<Pending>::iterator>> pending_of_;  // by key
  size_t backlog_bytes_ = 0;
  uint64_t change_call_ = 0;  // 0: none is under way
  MonotonicTime retry_at_;    // no request before

  Lane gets_;
  Lane waits_;
  size_t readers_ = 0;
  size_t holds_ = 0;
  Effects effects_;
};

}  // namespace muster::agent
