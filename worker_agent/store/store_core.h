// An agent's side of the job's store: copies of values, the changes that wait to be sent, and the reads in progress.
//
// Pure, like the agent's core: no I/O, no threads, no clock. One caller at a time. Each call returns Effects, which the
// caller must carry out.
//
// How fresh is a read? A value that this agent has fetched or changed is used for kFreshFor, and is then fetched again.
// So a reader sees another node's change after at most kFreshFor and the time of one request. It sees changes of its
// own node at once, even if they still wait for the scheduler. (A Get in progress may also see a Set that is made after
// it began.) After Refresh a reader sees all changes that were made before any answer that has arrived so far. The core
// never remembers that a key does not exist. While the scheduler is not reachable, a read gets the copy, however old.
// If there is no copy, it waits for the scheduler. All copies are dropped at the end of their round.
//
// Changes are sent one after another, in the order in which they were made. Each has a number, so that it takes effect
// only once even if it is sent again because its answer was lost. Waiting changes are sent together as a batch if
// possible (BatchRoom in change.h). If the scheduler refuses a batch, none of its changes is made, and they are sent
// one by one.
//
// No caller waits longer than kMaxStoreWaitMs. If a Set or Delete takes longer, its caller gets DEADLINE_EXCEEDED, and
// the change is still sent. An Add or CompareAndSet that was not sent by then never is, and its caller gets
// UNAVAILABLE.
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
  // The limit for waiting changes of callers with infinite patience. It is higher, since their gateways have limits
  // of their own.
  static constexpr size_t kMaxPatientBacklogBytes = 16 * kMaxStoreBacklogBytes;
  static constexpr absl::Duration kPatience = absl::Milliseconds(kMaxStoreWaitMs);

  struct Send {
    uint64_t call = 0;  // never reused
    StoreOperation operation;
  };
  // A change that the scheduler has refused. Before that, the caller got the answer that the change may still be made.
  struct Refused {
    std::string key;
    absl::Status why;
  };
  struct Effects {
    std::vector<Send> sends;
    std::vector<std::function<void()>> callbacks;  // to be called: each is a caller's `done` with its answer
    std::vector<Refused> refused;
  };

  // Begins the round in `caller`, and answers all calls of the round before that it is over. Does nothing if the round
  // is the present one. The changes' numbers start again from 1 only if the agent's incarnation is a new one.
  Effects BeginRound(v1::StoreCaller caller);
  // Ends the present round.
  Effects EndRound();

  // Must be called when the connection to the scheduler is made or lost. In both cases requests in progress count as
  // lost: the core ignores replies to them, and sends them again as long as their callers wait. Without a connection, a
  // read gets the copy if there is one.
  Effects Connect(MonotonicTime now);
  Effects Disconnect(MonotonicTime now);

  Effects Get(const std::string& key, JobStore::ValueDone done, MonotonicTime now);
  Effects Wait(const std::string& key, absl::Duration limit, JobStore::ValueDone done, MonotonicTime now);
  // Makes a change: a Set, Delete, Add or CompareAndSet, or a List, which must see the changes that were requested
  // before it. The core fills in caller and number. After `patience`, `done` gets an error.
  Effects Change(StoreOperation change, std::function<void(absl::StatusOr<v1::StoreReply>)> done, MonotonicTime now,
                 absl::Duration patience = kPatience);

  // Between Hold and Release nothing is sent, so that the calls made in between are sent together. Pairs may be nested.
  void Hold() { ++holds_; }
  Effects Release(MonotonicTime now);

  // Makes all copies outdated that are older than the latest answer: no read gets them any more, not even while the
  // scheduler is not reachable. A reply that arrives later, but is older than that, is ignored.
  void Refresh();

  // Takes the reply to a Send. UNAVAILABLE, DEADLINE_EXCEEDED and CANCELLED mean that the request may not have arrived.
  Effects Replied(uint64_t call, absl::StatusOr<v1::StoreReply> reply, MonotonicTime now);

  // Ends calls at their deadlines. Must be called about every kTick, unless IsIdle().
  static constexpr absl::Duration kTick = absl::Milliseconds(50);
  Effects Tick(MonotonicTime now);
  bool IsIdle() const { return pending_.empty() && gets_.fetches.empty() && waits_.fetches.empty(); }

  // Returns the caller of the present round; null: no round is in progress.
  const v1::StoreCaller* caller() const { return is_in_round_ ? &caller_ : nullptr; }

  // The size of the waiting changes in bytes, with an overhead for each.
  size_t backlog_bytes() const { return backlog_bytes_; }

 private:
  static constexpr size_t kMaxUnderWay = 256;  // requests in progress in each lane

  struct Reader {
    JobStore::ValueDone done;
    MonotonicTime deadline;
    bool waits = false;       // a Wait: is answered only once the key exists
    bool takes_copy = false;  // at the deadline it gets an old copy rather than an error
  };
  struct ChangeDone {
    std::function<void(absl::StatusOr<v1::StoreReply>)> done;  // null: it has been called
    MonotonicTime deadline;
  };
  struct Pending {
    StoreOperation change;
    std::string key;
    size_t bytes = 0;
    uint64_t number = 0;  // 0: it has not been sent yet
    MonotonicTime first_sent;
    ChangeDone caller;
    std::vector<Reader> readers;  // reads of the key that need this change's outcome
  };
  // The readers of one key. For each key and lane, at most one request is in progress.
  struct Fetch {
    uint64_t call = 0;  // the request in progress; 0: the key waits for its turn
    bool was_asked = false;
    uint64_t at_least =
        0;  // a reply of a lower version is too old: a change of this agent, or Refresh, needs a newer one
    std::vector<Reader> readers;
  };
  using Fetches = std::map<std::string, Fetch>;
  struct Lane {  // all requests of one kind, Get or Wait
    Fetches fetches;
    std::deque<std::string> turn;           // keys that wait for their turn to be requested
    std::map<uint64_t, std::string> calls;  // requests in progress: the key of each call
    MonotonicTime retry_at;                 // this lane sends nothing before this time
  };

  void Read(const std::string& key, Reader reader, MonotonicTime now);
  void Join(Lane& lane, const std::string& key, Reader reader);
  void LoseCalls();
  void SendOn(MonotonicTime now);
  void SendChange(MonotonicTime now);
  size_t CountBatch() const;  // returns how many of the waiting changes are sent together
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
  size_t sent_ = 0;             // the number of changes at the front that were sent together; they may have been made
  size_t alone_ = 0;            // the number at the front that must be sent one by one, since their batch was refused
  std::map<std::string, std::deque<std::list<Pending>::iterator>> pending_of_;  // by key
  size_t backlog_bytes_ = 0;
  uint64_t change_call_ = 0;  // the change in progress; 0: there is none
  MonotonicTime retry_at_;    // nothing is sent before this time

  Lane gets_;
  Lane waits_;
  size_t readers_ = 0;
  size_t holds_ = 0;
  Effects effects_;
};

}  // namespace muster::agent
