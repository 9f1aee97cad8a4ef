// What the parts of the core share: what is known, the time, who is connected, what is written and sent.
//
//   Liveness → Membership → StackInquiry → Lifecycle → StoreService, Places → Context
//
// A part may use those to its right. core.cc says which of them deals with which event. Everything here belongs to the
// one thread that owns the core.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "scheduler/core/core.h"
#include "scheduler/core/deadline_queue.h"
#include "scheduler/core/state.h"

namespace muster::scheduler {

// A stream belongs to a node, or to a challenger that waits for the node's id. Who removes the node takes its streams
// out of Context::streams.
struct Attached {
  Run* run = nullptr;
  Node* node = nullptr;
  bool is_challenger = false;
  uint64_t heartbeat_seq = 0;  // the latest that was heard
};

// What a deadline belongs to: a run, or one of its nodes. Who removes that takes it out of Context::owners.
struct Owner {
  Run* run = nullptr;
  Node* node = nullptr;  // null: the run
};

// What an agent will be told; made where it stays.
using Message = std::shared_ptr<v1::SchedulerMessage>;

class Context {
 public:
  Context(CoreOptions core_options, std::string cluster_id)
      : options(std::move(core_options)), state(std::move(cluster_id)) {}

  v1::Record NewRecord() const;
  void Write(v1::Record record);  // evolves, persists, announces
  Message NewMessage() const;
  void SendTo(StreamId stream, Message message, bool is_urgent = false);  // stream 0: to nobody
  void CloseStreamOf(StreamId stream);
  // Sets the one deadline of each from all that it waits for.
  void Schedule(const Run& run);
  void Schedule(const Node& node);
  void GiveHandle(Run& run);
  void GiveHandle(Run& run, Node& node);

  absl::Duration HeartbeatInterval() const;
  absl::Duration FenceTimeout(Run& run) const;  // zero: not armed
  absl::Duration TopoTimeout(const v1::JobSettings& settings) const;
  absl::Duration RejoinTimeout(const Run& run) const;

  const CoreOptions options;
  State state;
  Now now;  // of the event that is being dealt with
  Now started;
  Effects effects;  // of that event so far
  DeadlineQueue deadlines;
  absl::flat_hash_map<StreamId, Attached> streams;
  absl::flat_hash_map<uint64_t, Owner> owners;  // by handle
  uint64_t last_handle = 0;
  uint64_t connected_nodes = 0;
  bool is_draining = false;
  std::vector<JoinRequested> requeued;  // challengers whose rival, or its run, went away meanwhile
  // --once: the job of the one run that is served. Not one that had ended before this start: that is history.
  std::optional<std::string> once_job;
  uint64_t once_handle = 0;  // --once: the topology timeout before any join
  MonotonicTime once_deadline = MonotonicTime::Never();

 private:
  absl::Duration SpareFence() const;
};

}  // namespace muster::scheduler
