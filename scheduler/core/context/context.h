// The state that the core's parts share: what is known, the time, the connections, and what is written and sent. All of
// it belongs to the one thread that owns the core.
//
// The core's folders, as floors. A file includes only files of its own folder and of the floors below it; core.cc and
// invariants.cc stand above all. tests/tidy/tidy.py reads this table and checks it.
//
//   liveness            Liveness: reports, leases, and what silence and time bring about
//   membership          Membership: how nodes join, and which start keeps a node's id
//   stacks              StackInquiry: where processes hang; LogInquiry: what they wrote
//   lifecycle           Lifecycle: rounds, recovery, draining, the end
//   views               what ms-ctl and monitoring are shown
//   lighthouse, places  Lighthouses: torchft's quorums; Places: one principal's share, and the rules of membership
//   store               StoreService: the job's values
//   context             Context; how records change the state (evolve), and the state as one record (snapshot)
//   facts               causes, progress, and the texts of the event log: pure functions of the state
//   state               events, options, and the state itself
//
// core.cc says which part handles which event.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "scheduler/core/state/deadline_queue.h"
#include "scheduler/core/state/events.h"
#include "scheduler/core/state/measures.h"
#include "scheduler/core/state/options.h"
#include "scheduler/core/state/recent_refusals.h"
#include "scheduler/core/state/state.h"

namespace muster::scheduler {

// A stream belongs to a node, or to a challenger that waits for the node's id. Code that removes the node also erases
// its streams from Context::streams.
struct Attached {
  Run* run = nullptr;
  Node* node = nullptr;
  bool is_challenger = false;
  uint64_t heartbeat_seq = 0;  // the latest received
};

// The owner of a deadline: a run, or one of its nodes. Places::Release removes it from Context::owners.
struct Owner {
  Run* run = nullptr;
  Node* node = nullptr;  // null: the run
};

// A message to an agent. It is built in the object that Send carries, so that it is never copied.
using Message = std::shared_ptr<v1::SchedulerMessage>;

class Context {
 public:
  Context(CoreOptions core_options, std::string cluster_id)
      : options(std::move(core_options)), state(std::move(cluster_id)) {}

  v1::Record NewRecord() const;
  void Write(v1::Record record);  // evolves, persists, announces
  Message NewMessage() const;
  void Warn(const Run& run, const char* kind, std::string text);          // announces an event that no record has
  void SendTo(StreamId stream, Message message, bool is_urgent = false);  // does nothing for stream 0
  // Forgets the stream and has it closed once all that was sent has gone. Does nothing for 0. (Places::Detach clears
  // the node's own `stream`.)
  void CloseStreamOf(StreamId stream);
  // Sets the earliest deadline that the run or node waits for. Call it after each change to one of its deadlines.
  void Schedule(const Run& run);
  void Schedule(const Node& node);
  // Gives the run or node the handle under which `owners` has it. Call it once: when it is opened, joins, or is
  // recovered.
  void GiveHandle(Run& run);
  void GiveHandle(Run& run, Node& node);

  absl::Duration HeartbeatInterval() const;
  // Returns whole milliseconds; zero: agents are to disarm. Run::fence keeps it, so that it never gets shorter.
  absl::Duration FenceTimeout(Run& run) const;
  absl::Duration TopoTimeout(const v1::JobSettings& settings) const;
  absl::Duration RejoinTimeout(const Run& run) const;

  const CoreOptions options;
  State state;
  Now now;  // of the event that is being handled
  Now started;
  Effects effects;  // of that event so far
  Measures measures;
  RecentRefusals refusals;
  DeadlineQueue deadlines;
  absl::flat_hash_map<StreamId, Attached> streams;
  absl::flat_hash_map<uint64_t, Owner> owners;  // by handle
  uint64_t last_handle = 0;
  uint64_t connected_nodes = 0;         // the number of nodes that have a stream
  bool is_draining = false;             // the scheduler is going to end (DrainRequested); not about draining nodes
  std::vector<JoinRequested> requeued;  // joins of challengers to try again: the rival, or its run, went away meanwhile
  // --once: the job of the one run that is served. A run that had ended before this start does not count.
  std::optional<std::string> once_job;
  uint64_t once_handle = 0;  // --once: the topology timeout before any join
  MonotonicTime once_deadline = MonotonicTime::Never();

 private:
  absl::Duration SpareFence() const;
};

}  // namespace muster::scheduler
