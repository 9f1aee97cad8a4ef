// The one thread that owns the core.
//
// Any thread puts events into a bounded queue. The loop takes them in batches, applies them, and hands the records to
// the journal. It carries out the other effects in order, once the records before them are durable. The loop never
// waits for the disk. If it is more than 250 ms late it reports that to the core (LoopWasLate). While the journal is
// stalled because the disk is full, the loop applies no deadline; afterwards it reports that time to the core as well.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "scheduler/core/core.h"
#include "scheduler/core/state/events.h"
#include "scheduler/core/state/histogram.h"
#include "scheduler/journal/journal.h"

namespace muster::scheduler {

// Carries out all effects except Persist. The loop calls it in the order of the effects, except that an urgent Send may
// come earlier. Only one thread calls it at a time. Its methods must not block.
class EffectSink {
 public:
  virtual ~EffectSink() = default;
  virtual void OnSend(StreamId stream, std::shared_ptr<const v1::SchedulerMessage> message) = 0;
  virtual void OnCloseStream(StreamId stream) = 0;
  virtual void OnAnswer(Answer answer) = 0;
  virtual void OnPublishPeers(PublishPeers publish) = 0;
  virtual void OnForgetPeers(ForgetPeers forget) = 0;
  virtual void OnAnnounce(const Announce& announce) = 0;
  virtual void OnRunSettled(const RunSettled& settled) = 0;
  // Called after each group of effects that the loop has carried out together.
  virtual void OnTurnEnd() {}
};

// The methods of Core that the loop calls (see core.h). A test may replace the core with an implementation of its own.
class CoreDriver {
 public:
  virtual ~CoreDriver() = default;
  virtual void Recover(const v1::Record& record) = 0;
  virtual absl::Status CheckRecovered() const = 0;
  virtual Effects Start(Now now) = 0;
  virtual Effects Apply(const Event& event, Now now) = 0;
  virtual JournalSnapshot TakeSnapshot() const = 0;
  virtual MonotonicTime NextDeadline() const = 0;
};

// Counts of the journal's content at the start, for the log.
struct Recovered {
  uint64_t records = 0;  // a snapshot counts as one
  uint64_t jobs = 0;
  uint64_t runs = 0;
  absl::Duration took;
};

// Measurements of the loop and its journal, since the start.
struct LoopMeasures {
  MonotonicTime last_turn;  // an idle loop makes one each kMaxTurn
  // The time that the first event of each turn waited in the queue, in seconds.
  Histogram wait{{0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5}};
  // The time from the append of records until they were durable, in seconds.
  Histogram append{{0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5}};
  absl::Duration lost;  // the sum of the times reported by LoopWasLate
  uint64_t snapshots = 0;
  WallTime last_snapshot;      // 0: none since the start
  uint64_t journal_bytes = 0;  // approximate: the last snapshot and the records since
  bool is_journal_stalled = false;
};

class Loop {
 public:
  struct Options {
    size_t queue_limit = 65'536;  // of new work (joins, queries, store calls); other events are always accepted
    size_t batch_limit = 1'024;
    absl::Duration late_after = absl::Milliseconds(250);
  };

  // All arguments that are references must outlive the loop. The core must not have been started, because Start first
  // replays the journal into it.
  Loop(Core& core, Journal& journal, EffectSink& sink, const Clock& clock, Options options);
  Loop(std::unique_ptr<CoreDriver> core, Journal& journal, EffectSink& sink, const Clock& clock, Options options);
  ~Loop();  // stops

  // Replays the journal, and starts the core and the thread.
  absl::Status Start();

  // Returns the counts of the replay that Start has done.
  const Recovered& recovered() const;

  // Any thread may call this. Returns false if the queue is full and the event is new work (JoinRequested,
  // QueryReceived, StoreRequested); the caller then rejects the call with RESOURCE_EXHAUSTED. Heartbeats and all other
  // events are always accepted, because each stream reads its next message only once the loop has applied the last one.
  // The loop's thread calls `applied` once it has applied the event. After Stop has begun, Post returns false and
  // `applied` is never called.
  bool Post(Event event, std::function<void()> applied = nullptr);

  // Any thread except the loop's may call this. Applies the queued events, waits until their effects are carried out,
  // and ends the thread. If the disk is full it doesn't wait: it drops the effects that wait for records.
  void Stop();

  // Any thread may call this.
  LoopMeasures measures() const;

  // The number of events waiting to be applied, for metrics.
  size_t QueueLength() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::scheduler
