#include "scheduler/loop/outbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/loop/loop_fakes.h"

namespace muster::scheduler {
namespace {

std::vector<StreamId> Streams(const Effects& effects) {
  std::vector<StreamId> streams;
  for (const Effect& effect : effects) streams.push_back(std::get<Send>(effect).stream);
  return streams;
}

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Outbox, WhatStandsBeforeTheFirstRecordGoesAtOnce) {
  Outbox outbox;
  outbox.Add({ASend(1, 0), ARecord(), ASend(2, 0)});
  EXPECT_THAT(Streams(outbox.TakeReleased(0)), ElementsAre(1));
  EXPECT_THAT(Streams(outbox.TakeReleased(0)), IsEmpty());
  EXPECT_THAT(Streams(outbox.TakeReleased(1)), ElementsAre(2));
  EXPECT_TRUE(outbox.empty());
}

TEST(Outbox, OrderHoldsOverSeveralApplies) {
  Outbox outbox;
  EXPECT_EQ(outbox.Add({ARecord(), ARecord(), ASend(1, 0)}).records.size(), 2u);
  EXPECT_EQ(outbox.Add({ASend(2, 0), ARecord(), ASend(3, 0)}).records.size(), 1u);
  EXPECT_EQ(outbox.records(), 3u);
  EXPECT_THAT(Streams(outbox.TakeReleased(1)), IsEmpty());
  EXPECT_THAT(Streams(outbox.TakeReleased(2)), ElementsAre(1, 2));
  EXPECT_THAT(Streams(outbox.TakeReleased(3)), ElementsAre(3));
}

TEST(Outbox, UrgentSendsDoNotWait) {
  Outbox outbox;
  Outbox::Immediate immediate = outbox.Add({ARecord(), ASend(1, 0), ASend(2, 0, true)});
  ASSERT_EQ(immediate.urgent.size(), 1u);
  EXPECT_EQ(immediate.urgent[0].stream, 2u);
}

TEST(Outbox, AnUrgentDesiredStateReplacesOlderOnesOfItsStreamOnly) {
  Outbox outbox;
  outbox.Add({ARecord(), ASend(1, 1, false, true), ASend(2, 1, false, true), ASend(1, 1)});
  outbox.Add({ASend(1, 2, true, true)});
  // Stream 1's waiting desired state is gone. Its other message and stream 2's desired state are not.
  EXPECT_THAT(Streams(outbox.TakeReleased(1)), ElementsAre(2, 1));
}

// A round was closed and given up before its closing was durable. If an agent learns of that end and a crash makes the
// scheduler forget the round, the agent ignores the next round with the same number.
TEST(Outbox, TheEndOfARoundIsNotSentBeforeItsClosingIsDurable) {
  const auto closing = [](const std::string& job_id) {
    Persist persist;
    persist.record.mutable_round_closed()->set_job_id(job_id);
    persist.record.mutable_round_closed()->set_run(3);
    persist.record.mutable_round_closed()->set_round(7);
    return persist;
  };
  const auto end = [](StreamId stream, const std::string& job_id, uint32_t round) {
    auto message = std::make_shared<v1::SchedulerMessage>();
    message->mutable_desired()->set_run(3);
    message->mutable_desired()->set_round(round);
    message->mutable_desired()->set_phase(v1::RUN_PHASE_RECOVERING);
    return Send{stream, message, true, job_id};
  };
  Outbox outbox;
  outbox.Add({closing("a"), ASend(1, 0, false, true), ASend(2, 0, false, true)});
  const Outbox::Immediate others = outbox.Add({end(8, "a", 6), end(9, "b", 7)});
  EXPECT_EQ(others.urgent.size(), 2u) << "another round, another job";
  EXPECT_THAT(outbox.Add({ARecord(), end(1, "a", 7)}).urgent, IsEmpty());
  EXPECT_THAT(outbox.Add({ARecord(), end(1, "a", 7)}).urgent, IsEmpty()) << "the last word counts";
  EXPECT_THAT(Streams(outbox.TakeReleased(1)), ElementsAre(2)) << "stream 1 never hears that the round began";
  EXPECT_THAT(Streams(outbox.TakeReleased(2)), IsEmpty());
  EXPECT_EQ(outbox.Add({end(1, "a", 7)}).urgent.size(), 1u) << "its closing is durable now";
  EXPECT_TRUE(outbox.empty()) << "and this one says it all";
}

TEST(Outbox, AnUrgentMessageOfAnotherKindReplacesNothing) {
  Outbox outbox;
  outbox.Add({ARecord(), ASend(1, 1, false, true)});
  outbox.Add({ASend(1, 2, true, false)});
  EXPECT_THAT(Streams(outbox.TakeReleased(1)), ElementsAre(1));
}

TEST(Outbox, ADesiredStateNewerThanTheUrgentOneStays) {
  Outbox outbox;
  outbox.Add({ASend(1, 2, true, true), ARecord(), ASend(1, 3, false, true)});
  EXPECT_THAT(Streams(outbox.TakeReleased(1)), ElementsAre(1));
}

Send AnAnswer(StreamId stream, uint64_t heartbeat, uint32_t fence_ms) {
  auto message = std::make_shared<v1::SchedulerMessage>();
  message->mutable_acknowledgement()->set_heartbeat_seq(heartbeat);
  message->mutable_acknowledgement()->set_fence_timeout_ms(fence_ms);
  message->mutable_acknowledgement()->mutable_waiting()->set_workers_here(3);
  return Send{stream, std::move(message), false};
}

TEST(Outbox, OnAFullDiskAnArmedNodesAnswerOvertakesWhatIsNotItsOwn) {
  Outbox outbox;
  outbox.Add({ARecord(), ASend(1, 0)}, true);
  const Outbox::Immediate immediate = outbox.Add({AnAnswer(2, 7, 120'000)}, true);
  ASSERT_EQ(immediate.urgent.size(), 1u);
  const v1::Acknowledgement& answer = immediate.urgent[0].message->acknowledgement();
  EXPECT_EQ(answer.heartbeat_seq(), 7u);
  EXPECT_EQ(answer.fence_timeout_ms(), 120'000u);
  EXPECT_FALSE(answer.has_waiting()) << "it counts nodes that are not durable";
  EXPECT_THAT(Streams(outbox.TakeReleased(1)), ElementsAre(1));
}

TEST(Outbox, OnAFullDiskAnAnswerWaitsBehindItsOwnNews) {
  const struct {
    const char* name;
    Effects before, with;
  } cases[] = {
      {"the welcome still waits", {ARecord(), ASend(2, 0)}, {AnAnswer(2, 7, 1'000)}},
      {"its events are in the same step", {}, {ARecord(), AnAnswer(2, 7, 1'000)}},
      {"its events are in an earlier step", {ARecord(), AnAnswer(2, 6, 1'000)}, {AnAnswer(2, 7, 1'000)}},
      {"not armed may not be true", {ARecord()}, {AnAnswer(2, 7, 0)}},
      {"no answer to a heartbeat", {ARecord()}, {ASend(2, 0)}},
  };
  for (const auto& test : cases) {
    Outbox outbox;
    outbox.Add(test.before, true);
    EXPECT_THAT(outbox.Add(test.with, true).urgent, IsEmpty()) << test.name;
    EXPECT_FALSE(outbox.empty()) << test.name;
  }
}

TEST(Outbox, AnAnswerThatCameJustBeforeTheDiskWasSeenToBeFullHoldsNoOtherUp) {
  Outbox outbox;
  outbox.Add({ARecord()});
  outbox.Add({AnAnswer(2, 6, 1'000)});
  EXPECT_EQ(outbox.Add({AnAnswer(2, 7, 1'000)}, true).urgent.size(), 1u);
}

TEST(Outbox, WithRoomOnTheDiskNothingOvertakes) {
  Outbox outbox;
  outbox.Add({ARecord()});
  EXPECT_THAT(outbox.Add({AnAnswer(2, 7, 1'000)}).urgent, IsEmpty());
}

TEST(Outbox, OfManyAnswersThatWaitTheLatestOfEachStreamIsKept) {
  Outbox outbox;
  outbox.Add({ARecord(), ASend(1, 0)});
  uint64_t heartbeat = 0;
  for (size_t i = 0; i < 10 * Outbox::kDropAtLeast; ++i) outbox.Add({AnAnswer(1 + i % 4, ++heartbeat, 0)});
  const Effects released = outbox.TakeReleased(1);
  EXPECT_LE(released.size(), Outbox::kDropAtLeast);
  EXPECT_FALSE(std::get<Send>(released.front()).message->has_acknowledgement()) << "other messages stay";
  const auto& last = std::get<Send>(released.back());
  EXPECT_EQ(last.message->acknowledgement().heartbeat_seq(), heartbeat);
}

TEST(Outbox, WhatWaitsForAStreamThatIsGoneIsDropped) {
  Outbox outbox;
  outbox.Add({ARecord(), ASend(1, 0), ASend(2, 0), CloseStream{1}, ASend(1, 0)});
  outbox.Forget(1);
  const Effects released = outbox.TakeReleased(1);
  ASSERT_EQ(released.size(), 2u);
  EXPECT_EQ(std::get<Send>(released[0]).stream, 2u);
  EXPECT_EQ(std::get<CloseStream>(released[1]).stream, 1u) << "the closing side may still need it";
}

}  // namespace
}  // namespace muster::scheduler
