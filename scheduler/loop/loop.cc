#include "scheduler/loop/loop.h"

#include <pthread.h>

#include <algorithm>
#include <deque>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/mutex.h"
#include "common/sys/threads.h"
#include "scheduler/loop/event_queue.h"
#include "scheduler/loop/outbox.h"
#include "scheduler/loop/recovery_tally.h"

namespace muster::scheduler {
namespace {

constexpr absl::Duration kStallLook = absl::Milliseconds(250);  // between checks for room on the disk

constexpr size_t kMaxTimedAppends = 1024;  // bounds the memory for the measurement of appends on a slow disk

// Hands one effect to the sink.
class CarryOut {
 public:
  explicit CarryOut(EffectSink& sink) : sink_(sink) {}
  void operator()(Persist&) const { MUSTER_CHECK(false, "records go to the journal"); }
  void operator()(Send& send) const { sink_.OnSend(send.stream, std::move(send.message)); }
  void operator()(CloseStream& close) const { sink_.OnCloseStream(close.stream); }
  void operator()(Answer& answer) const { sink_.OnAnswer(std::move(answer)); }
  void operator()(PublishPeers& publish) const { sink_.OnPublishPeers(std::move(publish)); }
  void operator()(ForgetPeers& forget) const { sink_.OnForgetPeers(std::move(forget)); }
  void operator()(Announce& announce) const { sink_.OnAnnounce(announce); }
  void operator()(RunSettled& settled) const { sink_.OnRunSettled(settled); }

 private:
  EffectSink& sink_;
};

}  // namespace

class Loop::Impl {
 public:
  Impl(std::unique_ptr<CoreDriver> core, Journal& journal, EffectSink& sink, const Clock& clock, Options options)
      : core_(std::move(core)),
        journal_(journal),
        sink_(sink),
        clock_(clock),
        options_(options),
        queue_(clock, options.queue_limit, options.late_after) {}

  absl::Status Start() {
    journal_.SetOnDurable([this](uint64_t sequence) { queue_.NoteDurable(sequence); });
    const MonotonicTime begin = clock_.Read().monotonic;
    RecoveryTally tally;
    absl::Status replayed = journal_.Replay([&](const v1::Record& record) {
      tally.Count(record);
      core_->Recover(record);
    });
    if (replayed.ok()) replayed = core_->CheckRecovered();
    if (!replayed.ok()) return replayed;
    recovered_ = tally.found();
    recovered_.took = clock_.Read().monotonic - begin;
    started_effects_ = core_->Start(clock_.Read());
    absl::StatusOr<std::thread> thread = TryThread([this] { Run(); });
    if (!thread.ok()) return thread.status();
    thread_ = *std::move(thread);
    return absl::OkStatus();
  }

  void Stop() {
    queue_.Close();
    MutexLock lock(stop_mutex_);
    if (thread_.joinable()) thread_.join();
    journal_.SetOnDurable(nullptr);  // if the disk was full, the journal may write records after the loop has ended
  }

  EventQueue& queue() { return queue_; }
  LoopMeasures measures() const {
    MutexLock lock(measures_mutex_);
    return measures_;
  }
  const Recovered& recovered() const { return recovered_; }

 private:
  void Run() {
    pthread_setname_np(pthread_self(), "ms-loop");
    std::vector<v1::Record> records;
    Gather(std::exchange(started_effects_, {}), records);
    Store(std::move(records));
    MonotonicTime deadline = core_->NextDeadline();
    while (true) {
      EventQueue::Taken taken = queue_.Take(deadline, options_.batch_limit);
      NoteTurn(taken);
      NoteStall(taken);
      ApplyAll(taken);
      Release(taken.durable);
      if (taken.is_closed && (outbox_.empty() || is_stalled_)) return;
      deadline = is_stalled_ ? MonotonicTime::Never() : core_->NextDeadline();
      if (is_stalled_ || taken.is_closed) deadline = std::min(deadline, taken.now.monotonic + kStallLook);
    }
  }

  void NoteTurn(const EventQueue::Taken& taken) {
    MutexLock lock(measures_mutex_);
    measures_.last_turn = taken.now.monotonic;
    if (taken.is_late) measures_.lost += taken.late_by;
    if (!taken.events.empty()) {
      measures_.wait.Observe(absl::ToDoubleSeconds(taken.now.monotonic - taken.events.front().posted));
    }
    for (; !appended_.empty() && appended_.front().first <= taken.durable; appended_.pop_front()) {
      measures_.append.Observe(absl::ToDoubleSeconds(taken.now.monotonic - appended_.front().second));
    }
    measures_.journal_bytes = journal_.Bytes();
    measures_.is_journal_stalled = journal_.IsStalled();
  }

  void NoteSnapshot() {
    MutexLock lock(measures_mutex_);
    ++measures_.snapshots;
    measures_.last_snapshot = clock_.Read().wall;
  }

  // While the disk is full, the core gets no Tick, so it declares no node lost: a node can't report while its welcome
  // waits for the disk. When the disk has room again, LoopWasLate says for how long no node could report.
  void NoteStall(EventQueue::Taken& taken) {
    const bool was_stalled = std::exchange(is_stalled_, journal_.IsStalled());
    if (is_stalled_ && !was_stalled) stalled_since_ = taken.now.monotonic;
    if (!was_stalled || is_stalled_) return;
    taken.is_late = true;
    taken.late_by = std::max(taken.late_by, taken.now.monotonic - stalled_since_);
  }

  void ApplyAll(EventQueue::Taken& taken) {
    std::vector<v1::Record> records;
    if (taken.is_late) Gather(core_->Apply(LoopWasLate{taken.late_by}, taken.now), records);
    for (const QueuedEvent& queued : taken.events) {
      // The disk may stay full for hours. Agents connect again and again meanwhile, so messages for their closed
      // streams must not pile up.
      if (const auto* closed = std::get_if<StreamClosed>(&queued.event); closed != nullptr && is_stalled_) {
        outbox_.Forget(closed->stream);
      }
      Gather(core_->Apply(queued.event, taken.now), records);
    }
    // The Tick comes last, so that a heartbeat of this turn renews its lease before the core checks whether it ended.
    if (!is_stalled_ && core_->NextDeadline() <= taken.now.monotonic) Gather(core_->Apply(Tick{}, taken.now), records);
    Store(std::move(records));
    for (const QueuedEvent& queued : taken.events) {
      if (queued.applied) queued.applied();
    }
  }

  void Gather(Effects effects, std::vector<v1::Record>& records) {
    Outbox::Immediate immediate = outbox_.Add(std::move(effects), is_stalled_);
    for (Send& send : immediate.urgent) sink_.OnSend(send.stream, std::move(send.message));
    for (v1::Record& record : immediate.records) records.push_back(std::move(record));
  }

  void Store(std::vector<v1::Record> records) {
    if (!records.empty()) {
      const uint64_t last = journal_.Append(std::move(records));
      if (appended_.size() < kMaxTimedAppends) appended_.emplace_back(last, clock_.Read().monotonic);
      const uint64_t offset = last - outbox_.records();
      MUSTER_CHECK(!has_offset_ || offset == sequence_offset_, "journal sequences rise by one for each record");
      sequence_offset_ = offset;
      has_offset_ = true;
      if (journal_.WantsSnapshot()) {
        journal_.AppendSnapshot(core_->TakeSnapshot());
        NoteSnapshot();
      }
    }
    Release(durable_);
  }

  // `durable` is a sequence of the journal. The outbox numbers the records of this process from 1.
  void Release(uint64_t durable) {
    durable_ = durable;
    const uint64_t records = durable > sequence_offset_ ? durable - sequence_offset_ : 0;
    for (Effect& effect : outbox_.TakeReleased(records)) std::visit(CarryOut(sink_), effect);
    sink_.OnTurnEnd();
  }

  const std::unique_ptr<CoreDriver> core_;
  Journal& journal_;
  EffectSink& sink_;
  const Clock& clock_;
  const Options options_;
  EventQueue queue_;
  Mutex stop_mutex_;  // several threads may call Stop at once
  std::thread thread_;
  Effects started_effects_;
  Recovered recovered_;

  // Owned by the loop's thread.
  Outbox outbox_;
  uint64_t durable_ = 0;
  uint64_t sequence_offset_ = 0;  // the journal's last sequence before this process's first record
  bool has_offset_ = false;
  bool is_stalled_ = false;  // as far as the loop has noticed
  MonotonicTime stalled_since_;
  std::deque<std::pair<uint64_t, MonotonicTime>> appended_;  // sequences not durable yet, and when they were appended

  mutable Mutex measures_mutex_;
  LoopMeasures measures_ ABSL_GUARDED_BY(measures_mutex_);
};

Loop::Loop(std::unique_ptr<CoreDriver> core, Journal& journal, EffectSink& sink, const Clock& clock, Options options)
    : impl_(std::make_unique<Impl>(std::move(core), journal, sink, clock, options)) {}

Loop::~Loop() { Stop(); }

absl::Status Loop::Start() { return impl_->Start(); }

bool Loop::Post(Event event, std::function<void()> applied) {
  return impl_->queue().Post(std::move(event), std::move(applied));
}

void Loop::Stop() { impl_->Stop(); }

const Recovered& Loop::recovered() const { return impl_->recovered(); }

LoopMeasures Loop::measures() const { return impl_->measures(); }

size_t Loop::QueueLength() const { return impl_->queue().Length(); }

}  // namespace muster::scheduler
