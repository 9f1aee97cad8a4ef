// The data that the core's parts share: the state, the time, the streams, the records, and the effects. All of it
// belongs to the one thread that owns the core.
//
// The core's folders, as layers: the table has the highest one first. A file includes only files of its own folder and
// of the layers below it; core.cc and invariants.cc are above all layers. tests/tidy/tidy.py reads this table and
// checks the includes.
//
//   liveness            Liveness: reports, leases, and what silence and time bring about
//   membership          Membership: how nodes join, and which start keeps a node's id
//   stacks              StackInquiry: where processes hang; LogInquiry: what they wrote
//   lifecycle           Lifecycle: rounds, recovery, draining, the end
//   views               what ms-ctl and monitoring are shown
//   lighthouse, places  Lighthouses: torchft's quorums; Places: limits for each principal, and the rules of membership
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

// The owner of a stream: a node, or a challenger, which is a second agent that claims the node's id (see Challenger).
// Code that removes the node also erases its streams from Context::streams.
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
  void Write(v1::Record record);  // applies the record to the state, persists it, and announces its lines for people
  Message NewMessage() const;
  void Warn(const Run& run, const char* kind, std::string text);          // announces an event without a record
  void SendTo(StreamId stream, Message message, bool is_urgent = false);  // does nothing for stream 0
  // Forgets the stream, and closes it after all messages that were sent on it. Does nothing for stream 0. It leaves
  // Node::stream as it is; Places::Detach clears that.
  void CloseStreamOf(StreamId stream);
  // Plans the next wake-up for the run or node: the earliest of its deadlines. Call it after each change to one of
  // them.
  void Schedule(const Run& run);
  void Schedule(const Node& node);
  // Gives the run or node its handle, the key of its entry in `owners`. Call it once: when the run is opened, when the
  // node joins, or when they are recovered.
  void GiveHandle(Run& run);
  void GiveHandle(Run& run, Node& node);

  absl::Duration HeartbeatInterval() const;
  // Returns the fence that agents must arm, in whole milliseconds; zero: they must disarm it. Stores the fence of a run
  // with spares in Run::fence, so that it never gets shorter.
  absl::Duration FenceTimeout(Run& run) const;
  absl::Duration TopoTimeout(const v1::JobSettings& settings) const;
  absl::Duration RejoinTimeout(const Run& run) const;

  const CoreOptions options;
  State state;
  Now now;  // the time of the event that is being handled
  Now started;
  Effects effects;  // the effects of this event so far
  Measures measures;
  RecentRefusals refusals;
  DeadlineQueue deadlines;
  absl::flat_hash_map<StreamId, Attached> streams;
  absl::flat_hash_map<uint64_t, Owner> owners;  // by handle
  uint64_t last_handle = 0;
  uint64_t connected_nodes = 0;         // the number of nodes that have a stream
  bool is_draining = false;             // the scheduler is going to end (DrainRequested); not about draining nodes
  std::vector<JoinRequested> requeued;  // joins of challengers to try again, because the node or its run has gone
  // With --once: the job that this scheduler serves. At the start, only a job with a run that has not ended is chosen.
  std::optional<std::string> once_job;
  uint64_t once_handle = 0;  // with --once: the handle of once_deadline, by which a first node must join
  MonotonicTime once_deadline = MonotonicTime::Never();
  MonotonicTime late_until;  // when the loop was late last, and could hear no node before

 private:
  absl::Duration SpareFence() const;
};

}  // namespace muster::scheduler
