#include "scheduler/loop/loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "scheduler/journal/memory_journal.h"
#include "scheduler/loop/recovery_tally.h"
#include "tests/unit/loop/loop_fakes.h"

namespace muster::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class LoopTest : public ::testing::Test {
 protected:
  // Call after `script_` is complete.
  Loop& Start(Loop::Options options = {}) {
    loop_ = std::make_unique<Loop>(std::make_unique<ScriptedCore>(script_), journal_, sink_, clock_, options);
    EXPECT_TRUE(loop_->Start().ok());
    return *loop_;
  }
  // Notes applied events as words in `applied_`. A StreamClosed event has the effects that `effects` returns for its
  // stream.
  void ReactByStream(std::function<Effects(StreamId)> effects) {
    script_.react = [effects = std::move(effects)](const Event& event, Now) {
      const auto* closed = std::get_if<StreamClosed>(&event);
      return closed != nullptr ? effects(closed->stream) : Effects{};
    };
  }

  Trace trace_;
  TraceSink sink_{trace_};
  FakeClock clock_;
  HandJournal journal_;
  Script script_;
  std::unique_ptr<Loop> loop_;
};

// A watcher of the loop takes a long time without a turn for a hang.
TEST_F(LoopTest, AnIdleLoopMakesATurnEachSecond) {
  class TurnSink : public TraceSink {
   public:
    explicit TurnSink(Trace& trace) : TraceSink(trace), trace_(trace) {}
    void OnTurnEnd() override { trace_.Add("turn"); }

   private:
    Trace& trace_;
  };
  TurnSink sink(trace_);
  Loop loop(std::make_unique<ScriptedCore>(script_), journal_, sink, Clock::System(), {});
  const MonotonicTime begin = Clock::System().Read().monotonic;
  ASSERT_TRUE(loop.Start().ok());
  EXPECT_GE(trace_.Await(5).size(), 5u);
  EXPECT_GT(loop.measures().last_turn, begin);
  loop.Stop();
}

TEST_F(LoopTest, NoAnswerBeforeItsRecordIsDurable) {
  ReactByStream([](StreamId stream) { return Effects{ARecord(), ASend(stream, 1)}; });
  Loop& loop = Start();
  Trace applied_trace;
  for (StreamId stream : {1u, 2u, 3u}) {
    loop.Post(StreamClosed{stream}, [&] { applied_trace.Add("applied"); });
  }
  applied_trace.Await(3);
  EXPECT_THAT(trace_.words(), IsEmpty()) << "applied and appended, but nothing is durable";
  ASSERT_TRUE(journal_.Release(2));
  EXPECT_THAT(trace_.Await(2), ElementsAre("message 1 term 1", "message 2 term 1"));
  ASSERT_TRUE(journal_.Release(3));
  EXPECT_THAT(trace_.Await(3), ElementsAre("message 1 term 1", "message 2 term 1", "message 3 term 1"));
}

TEST_F(LoopTest, DurabilityMayComeFromAnotherThread) {
  ReactByStream([](StreamId stream) { return Effects{ARecord(), ASend(stream, 1)}; });
  Loop& loop = Start();
  constexpr size_t kEvents = 500;
  std::thread journal_thread([&] {
    for (uint64_t sequence = 1; sequence <= kEvents; ++sequence) ASSERT_TRUE(journal_.Release(sequence));
  });
  for (StreamId stream = 1; stream <= kEvents; ++stream) loop.Post(StreamClosed{stream});
  const std::vector<std::string> words = trace_.Await(kEvents);
  journal_thread.join();
  ASSERT_EQ(words.size(), kEvents);
  for (size_t i = 0; i < kEvents; ++i) EXPECT_EQ(words[i], "message " + std::to_string(i + 1) + " term 1");
}

TEST_F(LoopTest, UrgentOvertakesAndTheOldDesiredStateDoesNotComeBack) {
  ReactByStream([](StreamId stream) -> Effects {
    if (stream == 1) return {ARecord(), ASend(9, 1, false, true), ASend(8, 1)};
    return {ARecord(), ASend(9, 2, true, true), ASend(7, 2)};
  });
  Loop& loop = Start();
  loop.Post(StreamClosed{1});
  loop.Post(StreamClosed{2});
  EXPECT_THAT(trace_.Await(1), ElementsAre("desired 9 term 2"));
  ASSERT_TRUE(journal_.Release(2));
  EXPECT_THAT(trace_.Await(3), ElementsAre("desired 9 term 2", "message 8 term 1", "message 7 term 2"));
}

TEST_F(LoopTest, EveryKindOfEffectReachesTheSinkInOrder) {
  const auto line = std::make_shared<const v1::JobEvent>();
  script_.at_start = {ARecord(),
                      CloseStream{1},
                      Answer{2, absl::OkStatus(), {}},
                      PublishPeers{"j", 1, 3, nullptr},
                      ForgetPeers{"j", 4},
                      Announce{Severity::kInfo, line},
                      RunSettled{"j", 5, {}}};
  Start();
  ASSERT_TRUE(journal_.Release(1));
  EXPECT_THAT(trace_.Await(6), ElementsAre("close 1", "answer 2", "publish 3", "forget 4", "announce ", "settled 5"));
}

TEST_F(LoopTest, ReplaysBeforeItStartsAndCountsSequencesOnFromThere) {
  journal_.replayed = {"a", "b"};
  ReactByStream([](StreamId stream) { return Effects{ARecord(), ASend(stream, 1)}; });
  Loop& loop = Start();
  loop.Post(StreamClosed{1});
  ASSERT_TRUE(journal_.AwaitAppended(3));
  EXPECT_THAT(script_.recovered, ElementsAre("a", "b"));
  ASSERT_TRUE(journal_.Release(2));
  EXPECT_THAT(trace_.words(), IsEmpty());
  ASSERT_TRUE(journal_.Release(3));
  EXPECT_THAT(trace_.Await(1), ElementsAre("message 1 term 1"));
}

TEST_F(LoopTest, AJournalThatCannotBeReadStopsTheStart) {
  journal_.replay_status = absl::DataLossError("checksum");
  Loop loop(std::make_unique<ScriptedCore>(script_), journal_, sink_, clock_, Loop::Options{});
  EXPECT_EQ(loop.Start().code(), absl::StatusCode::kDataLoss);
}

TEST_F(LoopTest, LatenessIsReportedBeforeAnythingElse) {
  Trace applied;
  script_.react = [&](const Event& event, Now) {
    if (const auto* late = std::get_if<LoopWasLate>(&event)) {
      applied.Add(late->by >= absl::Seconds(10) ? "late" : "late by too little");
    } else {
      applied.Add("event");
    }
    return Effects{};
  };
  Loop& loop = Start();
  loop.Post(StreamClosed{1});
  EXPECT_THAT(applied.Await(1), ElementsAre("event"));
  bool was_late = false;
  for (size_t seen = 1; seen < 1000 && !was_late; ++seen) {  // it may not have begun its sleep yet
    clock_.Advance(absl::Seconds(11));                       // a sleep of at most a second ends now, ten seconds late
    loop.Post(StreamClosed{2});
    auto words = applied.Await(seen + 1);
    ASSERT_GT(words.size(), seen);
    was_late = words[seen] == "late";
    if (was_late) words = applied.Await(seen + 2);
    EXPECT_EQ(words.back(), "event");
  }
  EXPECT_TRUE(was_late);
  loop.Stop();
}

TEST_F(LoopTest, TicksWhenTheDeadlineHasCome) {
  Trace applied;
  std::atomic<int64_t> deadline = (clock_.Read().monotonic + absl::Milliseconds(20)).nanoseconds();
  script_.deadline = [&] { return MonotonicTime::FromNanoseconds(deadline); };
  script_.react = [&](const Event& event, Now now) {
    if (std::holds_alternative<Tick>(event) && now.monotonic.nanoseconds() >= deadline) {
      deadline = MonotonicTime::Never().nanoseconds();
      applied.Add("tick");
    }
    return Effects{};
  };
  Loop& loop = Start();
  clock_.Advance(absl::Milliseconds(20));
  EXPECT_THAT(applied.Await(1), ElementsAre("tick"));
  loop.Stop();  // the loop asks for the deadline until then
}

TEST_F(LoopTest, AHeartbeatThatIsHereCountsBeforeTheDeadline) {
  Trace applied;
  std::atomic<bool> is_due = false;
  script_.deadline = [&] { return is_due ? clock_.Read().monotonic : MonotonicTime::Never(); };
  script_.react = [&](const Event& event, Now) {
    if (std::holds_alternative<Tick>(event)) {
      is_due = false;
      applied.Add("tick");
    } else {
      applied.Add("report");
      is_due = true;
    }
    return Effects{};
  };
  Loop& loop = Start();
  loop.Post(ReportReceived{});
  EXPECT_THAT(applied.Await(2), ElementsAre("report", "tick"));
  loop.Stop();  // the loop asks is_due until then
}

TEST_F(LoopTest, StopDrainsWhatIsQueuedAndWaitsForItsEffects) {
  ReactByStream([](StreamId stream) { return Effects{ARecord(), ASend(stream, 1)}; });
  Loop& loop = Start();
  for (StreamId stream = 1; stream <= 3; ++stream) loop.Post(StreamClosed{stream});
  std::thread releaser([&] { ASSERT_TRUE(journal_.Release(3)); });
  loop.Stop();
  releaser.join();
  EXPECT_EQ(trace_.words().size(), 3u);
  EXPECT_FALSE(loop.Post(StreamClosed{4})) << "after Stop nothing gets in";
  loop.Stop();  // a second time is harmless
}

TEST_F(LoopTest, StopWakesASleepingLoop) {
  Loop& loop = Start();
  loop.Stop();
  EXPECT_EQ(loop.QueueLength(), 0u);
}

TEST_F(LoopTest, AFullQueueTurnsNewWorkAwayOnly) {
  Trace gate;
  std::atomic<bool> is_open = false;
  std::mutex mutex;
  std::condition_variable opened;
  script_.react = [&](const Event&, Now) {
    gate.Add("in");
    std::unique_lock<std::mutex> lock(mutex);
    opened.wait_for(lock, kPatience, [&] { return is_open.load(); });
    return Effects{};
  };
  Loop& loop = Start(Loop::Options{.queue_limit = 2, .batch_limit = 1});
  loop.Post(StreamClosed{1});
  gate.Await(1);  // the loop is busy with the first event
  EXPECT_TRUE(loop.Post(JoinRequested{}));
  EXPECT_TRUE(loop.Post(JoinRequested{}));
  EXPECT_FALSE(loop.Post(JoinRequested{}));
  EXPECT_TRUE(loop.Post(ReportReceived{}));
  {
    std::lock_guard<std::mutex> lock(mutex);
    is_open = true;
  }
  opened.notify_all();
  loop.Stop();
  EXPECT_EQ(gate.words().size(), 4u);
}

TEST_F(LoopTest, ManyThreadsPostAtOnce) {
  MemoryJournal memory;
  std::atomic<int> applied = 0;
  ReactByStream([&](StreamId stream) { return Effects{ARecord(), ASend(stream, 1)}; });
  Loop loop(std::make_unique<ScriptedCore>(script_), memory, sink_, Clock::System(), Loop::Options{});
  ASSERT_TRUE(loop.Start().ok());
  std::vector<std::thread> posters;
  for (int t = 0; t < 4; ++t) {
    posters.emplace_back([&] {
      for (int i = 0; i < 250; ++i) loop.Post(StreamClosed{1}, [&] { ++applied; });
    });
  }
  for (std::thread& poster : posters) poster.join();
  loop.Stop();
  EXPECT_EQ(applied, 1000);
  EXPECT_EQ(trace_.words().size(), 1000u);
}

TEST_F(LoopTest, ASnapshotFollowsTheRecordsThatItAmountsTo) {
  ReactByStream([](StreamId) { return Effects{ARecord(), ARecord()}; });
  Loop& loop = Start();
  Trace applied;
  loop.Post(StreamClosed{1}, [&] { applied.Add("applied"); });
  applied.Await(1);
  EXPECT_THAT(journal_.AwaitSnapshots(0), IsEmpty());
  journal_.wants_snapshot = true;
  loop.Post(StreamClosed{2});
  EXPECT_THAT(journal_.AwaitSnapshots(1), ElementsAre(std::pair<uint64_t, uint64_t>{4, 42}));
  ASSERT_TRUE(journal_.Release(4));
}

TEST_F(LoopTest, OnAFullDiskStopDoesNotWait) {
  ReactByStream([](StreamId stream) { return Effects{ARecord(), ASend(stream, 1)}; });
  Loop& loop = Start();
  loop.Post(StreamClosed{1});
  ASSERT_TRUE(journal_.AwaitAppended(1));
  journal_.looks_until_stalled = 3;  // the journal turns out to be full only after the end has begun
  clock_.StepAtEachRead(absl::Milliseconds(100));
  loop.Stop();
  EXPECT_THAT(trace_.words(), IsEmpty()) << "nothing was durable";
}

TEST_F(LoopTest, CountsWhatItRecovered) {
  journal_.replayed = {"a", "b", "a"};
  const Recovered& found = Start().recovered();
  EXPECT_EQ(found.records, 3u);
  EXPECT_EQ(found.jobs, 2u);
  EXPECT_EQ(found.runs, 2u);
}

TEST(RecoveryTally, KnowsSnapshotsAndWhatWasForgotten) {
  RecoveryTally tally;
  v1::Record record;
  record.mutable_run_opened()->set_job_id("old");
  tally.Count(record);
  record.mutable_snapshot()->add_jobs()->set_job_id("a");
  for (uint64_t number : {3u, 4u}) record.mutable_snapshot()->mutable_jobs(0)->add_runs()->set_number(number);
  tally.Count(record);
  EXPECT_EQ(tally.found().runs, 2u);
  record.mutable_run_forgotten()->set_job_id("a");
  record.mutable_run_forgotten()->set_run(3);
  tally.Count(record);
  EXPECT_EQ(tally.found().records, 3u);
  EXPECT_EQ(tally.found().jobs, 1u);
  EXPECT_EQ(tally.found().runs, 1u);
}

TEST_F(LoopTest, OnAFullDiskNoDeadlineCounts) {
  Trace applied;
  std::atomic<bool> is_due = true;
  script_.deadline = [&] { return is_due ? clock_.Read().monotonic : MonotonicTime::Never(); };
  script_.react = [&](const Event& event, Now) {
    if (std::holds_alternative<Tick>(event)) is_due = false;
    const auto* late = std::get_if<LoopWasLate>(&event);
    applied.Add(late != nullptr ? (late->by >= absl::Seconds(9) ? "late" : "a little late")
                                : (std::holds_alternative<Tick>(event) ? "tick" : "event"));
    return Effects{};
  };
  journal_.is_stalled = true;
  Loop& loop = Start();
  loop.Post(StreamClosed{1});
  EXPECT_THAT(applied.Await(1), ElementsAre("event"));
  Trace noticed;
  loop.Post(StreamClosed{2}, [&] { noticed.Add("noticed"); });
  noticed.Await(1);
  clock_.Advance(absl::Milliseconds(240));  // not late; time passes until the deadline
  EXPECT_THAT(applied.Await(2), ElementsAre("event", "event"));
  journal_.is_stalled = false;
  for (int i = 0; i < 50; ++i) clock_.Advance(absl::Milliseconds(200));
  loop.Post(StreamClosed{3});
  const std::vector<std::string> words = applied.Await(5);
  ASSERT_GE(words.size(), 5u);
  EXPECT_EQ(words[2].substr(words[2].size() - 4), "late");
  EXPECT_THAT(words, ::testing::Contains("tick"));
  loop.Stop();  // the loop asks is_due until then
}

}  // namespace
}  // namespace muster::scheduler
