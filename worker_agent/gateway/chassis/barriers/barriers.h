// Barriers of a round's ranks (here called tasks), over the job's store. JAX and scripts use them. When all of its own
// tasks have come, an agent writes that to the store. The agent of the barrier's lowest task collects these entries and
// writes the result, for which all others wait. So, for any number of tasks, a barrier costs an agent three calls of
// the store: it writes its entry, waits for the result, and deletes its entry. An agent may find that the barrier can't
// end well, because its time is up or its callers disagree. This agent writes the error as the result. The first result
// counts.
//
// After a barrier each task sees all that the other tasks wrote to the store before the barrier.
//
// The barriers with one name form a sequence, counted from 0. The next one begins after the previous one has ended.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/base/clock.h"
#include "common/store/job_store.h"
#include "worker_agent/gateway/chassis/barriers/messages.pb.h"
#include "worker_agent/gateway/chassis/barriers/task_layout.h"
#include "worker_agent/gateway/chassis/post.h"

namespace muster::agent {

struct Arrival {
  std::string name;
  int64_t counter = 0;
  std::vector<int32_t> tasks;  // the participants; empty: all
  absl::Duration limit;        // how long the barrier may take, as its first arrival says; zero: no limit
  int32_t task = 0;            // the task that arrives, one of this agent's
  uint64_t incarnation = 0;    // of the task's process
};

// Used by the gateway's thread only. This thread also calls `done`: once, unless the round ends first.
class Barriers {
 public:
  // `counter` is the number of the barrier that the status is about; none: the status is about no barrier.
  using Done = std::function<void(absl::Status status, std::optional<int64_t> counter)>;
  using Incarnations = std::map<int32_t, uint64_t>;  // by task

  static constexpr size_t kMaxNames = 4096;      // names of ended barriers that are remembered
  static constexpr size_t kMaxUnderWay = 16384;  // barriers under way; no two have the same name

  struct Options {
    std::string prefix;                  // of the store's keys; no other keys have it
    std::string task = "task";           // the word for a task, for people
    std::string keeps_arrivals_of = "";  // the barrier for which Incarnation will be called; empty: none
  };
  // `store` and `clock` must outlive the pending calls to the store.
  Barriers(JobStore& store, const Clock& clock, Post post, TaskLayout layout, Options options)
      : store_(store),
        clock_(clock),
        post_(std::move(post)),
        layout_(std::move(layout)),
        everyone_(layout_.Everyone()),
        options_(std::move(options)) {}

  // Errors: INVALID_ARGUMENT (the callers disagree on the participants, or a non-participant has come), INTERNAL (the
  // arrival's counter is not the one that is expected), DEADLINE_EXCEEDED (names the missing tasks), RESOURCE_EXHAUSTED
  // (more than kMaxUnderWay barriers).
  void Arrive(Arrival arrival, Done done);
  // Ends the barrier with CANCELLED for all tasks that wait at it.
  void Cancel(const std::string& name, int64_t counter);

  // Calls `done` with the incarnations that the tasks gave when they arrived at the barrier, which must have ended
  // well.
  void Incarnation(const std::string& name, int64_t counter, std::function<void(absl::StatusOr<Incarnations>)> done);

  // Returns the number of the barrier `name` that is under way or, if none is, of the next one.
  int64_t CounterOf(const std::string& name) const;

  // Call every 100 ms or so while IsBusy.
  void Tick();
  bool IsBusy() const { return under_way_ > 0; }

 private:
  struct Barrier {
    std::string name;
    int64_t counter = 0;
    std::vector<int32_t> tasks;  // sorted
    MonotonicTime deadline = MonotonicTime::Never();
    MonotonicTime noted_at;                             // when `noted` was written to the store
    size_t noted = 0;                                   // how many tasks had come then
    std::map<int32_t, std::pair<uint64_t, Done>> came;  // by task; with its incarnation
    bool is_written = false;                            // this agent's entry
    bool is_awaited = false;                            // this agent waits for the result
    size_t missing = 0;    // agents without an entry so far, for the agent that collects the entries
    bool is_late = false;  // its time is up, and this agent is reporting that as the result
    std::optional<absl::Status> result;
  };
  using Shared = std::shared_ptr<Barrier>;

  absl::Status Check(const Arrival& arrival) const;
  absl::Status Conflict(const Barrier& barrier, const std::string& whose) const;
  std::string KeyOf(const Barrier& barrier) const;
  size_t CountOwn(const Barrier& barrier) const;
  std::string TextOf(const std::vector<int32_t>& tasks) const;
  std::vector<size_t> AgentsOf(const Barrier& barrier) const;
  barriers::StoredArrival StoredOf(const Barrier& barrier) const;
  void Note(const Shared& barrier);
  void Write(const Shared& barrier);
  void WriteAndWait(const Shared& barrier);
  void Collect(const Shared& barrier, size_t agent);
  void AwaitResult(const Shared& barrier);
  void TakeResult(const Shared& barrier, const std::string& stored);
  void Publish(const Shared& barrier, const absl::Status& status);
  void PublishMissing(const Shared& barrier);
  void Finish(const Shared& barrier, const absl::Status& result);
  void Sweep(const Barrier& ended);

  JobStore& store_;
  const Clock& clock_;
  const Post post_;
  const TaskLayout layout_;
  const std::vector<int32_t> everyone_;  // sorted
  const Options options_;
  std::map<std::string, Shared> barriers_;                     // by name: the barrier under way, or the last one
  std::list<std::string> ended_;                               // names, oldest first
  std::deque<std::pair<MonotonicTime, std::string>> results_;  // keys that this agent must delete, and when
  size_t under_way_ = 0;
};

}  // namespace muster::agent
