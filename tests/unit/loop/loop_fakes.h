// Stand-ins for the loop's surroundings: a core that plays a script, a journal that the test makes durable step by
// step, and a sink that lists the effects.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/loop/loop.h"

namespace muster::scheduler {

inline constexpr auto kPatience = std::chrono::seconds(20);

// A list of words that grows from other threads, and that a test can wait for.
class Trace {
 public:
  void Add(std::string word) {
    std::lock_guard<std::mutex> lock(mutex_);
    words_.push_back(std::move(word));
    changed_.notify_all();
  }
  std::vector<std::string> words() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return words_;
  }
  // Returns the words once there are at least `count`, or what there is after a long wait.
  std::vector<std::string> Await(size_t count) const {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait_for(lock, kPatience, [&] { return words_.size() >= count; });
    return words_;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<std::string> words_;
};

class FakeClock : public Clock {
 public:
  Now Read() const override {
    std::lock_guard<std::mutex> lock(mutex_);
    now_.monotonic = now_.monotonic + step_;
    return now_;
  }
  // After this, `step` passes before each reading of the clock.
  void StepAtEachRead(absl::Duration step) {
    std::lock_guard<std::mutex> lock(mutex_);
    step_ = step;
  }
  void Advance(absl::Duration by) {
    std::lock_guard<std::mutex> lock(mutex_);
    now_.monotonic = now_.monotonic + by;
  }

 private:
  mutable std::mutex mutex_;
  mutable Now now_{MonotonicTime::FromNanoseconds(1'000'000'000), WallTime{1}};
  absl::Duration step_;
};

class HandJournal : public Journal {
 public:
  absl::Status Replay(const std::function<void(const v1::Record&)>& take) override {
    for (const std::string& job : replayed) {
      v1::Record record;
      record.mutable_run_opened()->set_job_id(job);
      take(record);
      ++last_;
    }
    return replay_status;
  }
  uint64_t Append(std::vector<v1::Record> records) override {
    std::lock_guard<std::mutex> lock(mutex_);
    batches_.push_back(records.size());
    last_ += records.size();
    changed_.notify_all();
    return last_;
  }
  bool WantsSnapshot() const override { return wants_snapshot; }
  void AppendSnapshot(JournalSnapshot snapshot) override {
    std::lock_guard<std::mutex> lock(mutex_);
    snapshots_.emplace_back(last_, snapshot.make().snapshot().term());
    wants_snapshot = false;
    changed_.notify_all();
  }
  bool IsStalled() const override {
    if (looks_until_stalled > 0 && --looks_until_stalled == 0) is_stalled = true;
    return is_stalled;
  }
  void SetOnDurable(std::function<void(uint64_t)> on_durable) override { on_durable_ = std::move(on_durable); }
  bool IsPersistent() const override { return true; }
  std::string Describe() const override { return "by hand"; }

  // Waits until the sequence was appended, then reports it as durable.
  bool Release(uint64_t sequence) {
    if (!AwaitAppended(sequence)) return false;
    if (on_durable_) on_durable_(sequence);
    return true;
  }
  bool AwaitAppended(uint64_t sequence) {
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return last_ >= sequence; });
  }

  // The snapshots so far: the sequence before each, and the term in it.
  std::vector<std::pair<uint64_t, uint64_t>> AwaitSnapshots(size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait_for(lock, kPatience, [&] { return snapshots_.size() >= count; });
    return snapshots_;
  }

  std::vector<std::string> replayed;
  absl::Status replay_status;
  std::atomic<bool> wants_snapshot = false;
  mutable std::atomic<bool> is_stalled = false;
  mutable std::atomic<int> looks_until_stalled = 0;  // 0: no change

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t last_ = 0;
  std::vector<size_t> batches_;
  std::vector<std::pair<uint64_t, uint64_t>> snapshots_;
  std::function<void(uint64_t)> on_durable_;
};

// Writes each effect as a word: "send 3", "close 3", "answer 7", …
class TraceSink : public EffectSink {
 public:
  explicit TraceSink(Trace& trace) : trace_(trace) {}
  void OnSend(StreamId stream, std::shared_ptr<const v1::SchedulerMessage> message) override {
    const std::string what = message->has_desired() ? "desired" : message->has_welcome() ? "welcome" : "message";
    trace_.Add(what + " " + std::to_string(stream) + " term " + std::to_string(message->term()));
  }
  void OnCloseStream(StreamId stream) override { trace_.Add("close " + std::to_string(stream)); }
  void OnAnswer(Answer answer) override { trace_.Add("answer " + std::to_string(answer.query)); }
  void OnPublishPeers(PublishPeers publish) override { trace_.Add("publish " + std::to_string(publish.round)); }
  void OnForgetPeers(ForgetPeers forget) override { trace_.Add("forget " + std::to_string(forget.run)); }
  void OnAnnounce(const Announce& announce) override { trace_.Add("announce " + announce.event->kind()); }
  void OnRunSettled(const RunSettled& settled) override { trace_.Add("settled " + std::to_string(settled.run)); }

 private:
  Trace& trace_;
};

// Asks `react` for the effects of each event. `deadline` is the core's deadline.
struct Script {
  std::function<Effects(const Event&, Now)> react = [](const Event&, Now) { return Effects{}; };
  std::function<MonotonicTime()> deadline = [] { return MonotonicTime::Never(); };
  Effects at_start;
  std::vector<std::string> recovered;
  absl::Status recovery;
};

class ScriptedCore : public CoreDriver {
 public:
  explicit ScriptedCore(Script& script) : script_(script) {}
  void Recover(const v1::Record& record) override { script_.recovered.push_back(record.run_opened().job_id()); }
  absl::Status CheckRecovered() const override { return script_.recovery; }
  Effects Start(Now) override { return script_.at_start; }
  Effects Apply(const Event& event, Now now) override { return script_.react(event, now); }
  JournalSnapshot TakeSnapshot() const override {
    v1::Record record;
    record.mutable_snapshot()->set_term(42);
    return record;
  }
  MonotonicTime NextDeadline() const override { return script_.deadline(); }

 private:
  Script& script_;
};

inline Persist ARecord() { return Persist{}; }

inline Send ASend(StreamId stream, uint64_t term, bool is_urgent = false, bool is_desired = false) {
  auto message = std::make_shared<v1::SchedulerMessage>();
  message->set_term(term);
  if (is_desired) message->mutable_desired();
  return Send{stream, std::move(message), is_urgent};
}

}  // namespace muster::scheduler
