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
  // Stream 1's waiting desired state is gone, its other message and stream 2's desired state are not.
  EXPECT_THAT(Streams(outbox.TakeReleased(1)), ElementsAre(2, 1));
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

}  // namespace
}  // namespace muster::scheduler
