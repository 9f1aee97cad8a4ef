// Barriers of a round's ranks (tasks), over the job's store: JAX's, and those of scripts. Each agent writes once that
// all of its own tasks have come. The agent of the lowest task of a barrier collects that and writes the result, for
// which all others wait: so a barrier costs an agent three calls of the store (it removes what it wrote), however many
// tasks it has. Whoever finds that it can't end well (its time is up, its callers disagree) writes that as the result;
// the first result counts.
//
// Behind a barrier each sees what the others wrote to the store before it.
//
// A name stands for a row of barriers, which are counted from 0; the next one begins after the end of the last.
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
#include "worker_agent/gateway/chassis/strand.h"

namespace muster::agent {

struct Arrival {
  std::string name;
  int64_t counter = 0;
  std::vector<int32_t> tasks;  // whom it is of; empty: all
  absl::Duration limit;        // of the first one that comes; zero: none
  int32_t task = 0;            // who comes: one of this agent's
  uint64_t incarnation = 0;
};

// Of the strand's thread; `done` is called there, once, unless the round ends before.
class Barriers {
 public:
  // `counter`: of the row's barrier that the status is of; none where it is of no barrier.
  using Done = std::function<void(absl::Status status, std::optional<int64_t> counter)>;
  using Incarnations = std::map<int32_t, uint64_t>;  // by task

  static constexpr size_t kMaxNames = 4096;      // that are remembered after their end
  static constexpr size_t kMaxUnderWay = 16384;  // of different names

  struct Options {
    std::string prefix;                  // of the store's keys: whose barriers these are
    std::string task = "task";           // as people are told of one
    std::string keeps_arrivals_of = "";  // the barrier that Incarnation will be asked of; empty: none
  };
  // `store` and `clock` outlive what is asked of the store.
  Barriers(JobStore& store, const Clock& clock, Post post, TaskLayout layout, Options options)
      : store_(store),
        clock_(clock),
        post_(std::move(post)),
        layout_(std::move(layout)),
        everyone_(layout_.Everyone()),
        options_(std::move(options)) {}

  // Errors: INVALID_ARGUMENT (the callers disagree who takes part, or one that doesn't has come), INTERNAL (another
  // one of the row is under way), DEADLINE_EXCEEDED (names who has not come),
  // RESOURCE_EXHAUSTED (kMaxUnderWay).
  void Arrive(Arrival arrival, Done done);
  // All that wait there are told.
  void Cancel(const std::string& name, int64_t counter);

  // What the tasks of a barrier that has ended well had said.
  void Incarnation(const std::string& name, int64_t counter, std::function<void(absl::StatusOr<Incarnations>)> done);

  // The one of the row `name` that comes next, or is under way.
  int64_t CounterOf(const std::string& name) const;

  // Every 100 ms or so while IsBusy.
  void Tick();
  bool IsBusy() const { return under_way_ > 0; }

 private:
  struct Barrier {
    std::string name;
    int64_t counter = 0;
    std::vector<int32_t> tasks;  // sorted
    MonotonicTime deadline = MonotonicTime::Never();
    MonotonicTime noted_at;                             // who has come, for the others' information
    size_t noted = 0;                                   // how many then
    std::map<int32_t, std::pair<uint64_t, Done>> came;  // by task; with its incarnation
    bool is_written = false;
    bool is_awaited = false;  // its result
    size_t missing = 0;       // agents whose tasks have not all come, for the one that collects
    bool is_late = false;     // its end is being written
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
  void TellWhoIsMissing(const Shared& barrier);
  void Finish(const Shared& barrier, const absl::Status& result);
  void Sweep(const Barrier& ended);

  JobStore& store_;
  const Clock& clock_;
  const Post post_;
  const TaskLayout layout_;
  const std::vector<int32_t> everyone_;  // sorted
  const Options options_;
  std::map<std::string, Shared> barriers_;                     // by name: the one that is under way, or the last one
  std::list<std::string> ended_;                               // names, oldest first
  std::deque<std::pair<MonotonicTime, std::string>> results_;  // keys that this agent has to remove, and when
  size_t under_way_ = 0;
};

}  // namespace muster::agent
