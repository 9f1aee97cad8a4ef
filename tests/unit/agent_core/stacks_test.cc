#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "common/base/limits.h"
#include "tests/unit/agent_core/agent_harness.h"

namespace muster::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Ask(AgentHarness& agent, uint64_t query, const std::vector<uint32_t>& slots) {
  v1::SchedulerMessage message;
  message.mutable_stack_query()->set_query(query);
  message.mutable_stack_query()->mutable_slots()->Add(slots.begin(), slots.end());
  return agent.Receive(std::move(message));
}

std::string Gathered(AgentHarness& agent, uint64_t query) {
  StacksGathered event{query, {}};
  event.stacks.emplace_back().set_text("in main");
  return agent.Do(event);
}

TEST(Stacks, AQuestionIsAnsweredWithWhatWasGathered) {
  AgentHarness agent(SmallOptions(3));
  agent.RunRound(3);
  EXPECT_EQ(Ask(agent, 7, {2, 0}), "gather stacks 7: 0=100 2=102\n");
  EXPECT_EQ(Gathered(agent, 7), "send 1: stacks 7: 0 in main\n");
  EXPECT_EQ(Ask(agent, 8, {0}), "gather stacks 8: 0=100\n");
}

std::string AskLog(AgentHarness& agent, uint64_t query, uint32_t slot, uint32_t lines) {
  v1::SchedulerMessage message;
  message.mutable_log_query()->set_query(query);
  message.mutable_log_query()->set_slot(slot);
  message.mutable_log_query()->set_lines(lines);
  message.mutable_log_query()->set_after(5);
  return agent.Receive(std::move(message));
}

TEST(Logs, AreReadAndToldOnTheStreamThatTheyWereAskedOn) {
  AgentHarness agent(SmallOptions(2));
  EXPECT_EQ(AskLog(agent, 6, 0, 10), "") << "no scheduler has welcomed us yet";
  agent.RunRound(2);
  EXPECT_EQ(AskLog(agent, 7, 1, 1'000'000), "read_log 7 slot 1 lines 1000 after 5\n");
  EXPECT_EQ(AskLog(agent, 8, 2, 10), "") << "there is no such slot";
  LogRead read{7, 1, {}};
  read.log.set_text("loss 0.1\n");
  EXPECT_EQ(agent.Do(read), "send 1: log 7: loss 0.1\n");
  agent.Break("Socket closed");
  EXPECT_EQ(agent.Do(read), "") << "the asker has given up";
}

TEST(Stacks, ASlotWithoutAProcessHasNoPidAndAnUnknownOneIsIgnored) {
  AgentHarness agent(SmallOptions(2));
  EXPECT_EQ(Ask(agent, 6, {0}), "") << "no scheduler has welcomed us yet";
  agent.RunRound(2);
  agent.Ended(1, 1);
  EXPECT_EQ(Ask(agent, 7, {0, 1, 1, 2, 4'000'000'000}), "gather stacks 7: 0=100 1=0\n");
}

TEST(Stacks, OneAtATimeAndOfThoseThatWaitTheLastOne) {
  AgentHarness agent;
  agent.RunRound();
  Ask(agent, 7, {0});
  EXPECT_EQ(Ask(agent, 8, {0}), "");
  EXPECT_EQ(Ask(agent, 9, {0}), "");
  EXPECT_EQ(Gathered(agent, 7), "send 1: stacks 7: 0 in main\ngather stacks 9: 0=100\n");
  EXPECT_EQ(Gathered(agent, 9), "send 1: stacks 9: 0 in main\n");
}

TEST(Stacks, WhatWasAskedOnABrokenStreamIsDropped) {
  AgentHarness agent;
  agent.RunRound();
  Ask(agent, 7, {0});
  Ask(agent, 8, {0});
  agent.Break("Socket closed");
  EXPECT_EQ(Gathered(agent, 7), "");
  Ask(agent, 9, {0});
  agent.Pass(absl::Milliseconds(200));
  agent.Welcome(true, 1);
  EXPECT_EQ(Ask(agent, 10, {0}), "gather stacks 10: 0=100\n");
}

TEST(Stacks, AnAnswerThatComesAfterAReconnectIsNotForTheNewStream) {
  AgentHarness agent;
  agent.RunRound();
  Ask(agent, 7, {0});
  agent.Break("Socket closed");
  agent.Pass(absl::Milliseconds(200));
  agent.Welcome(true, 1);
  EXPECT_EQ(Ask(agent, 8, {0}), "") << "the first gathering is still under way";
  EXPECT_EQ(Gathered(agent, 7), "gather stacks 8: 0=100\n");
}

TEST(Stacks, TheNextRoundsProcessIsMeantOnceItHasStarted) {
  AgentHarness agent;
  agent.RunRound();
  agent.Ended(0, 1);
  agent.Desire(Running(1, 2));
  agent.Peers(2);
  EXPECT_EQ(Ask(agent, 7, {0}), "gather stacks 7: 0=0\n");
  Gathered(agent, 7);
  agent.Started(0, 2);
  EXPECT_EQ(Ask(agent, 8, {0}), "gather stacks 8: 0=100\n");
}

TEST(Stacks, AQuestionIsBounded) {
  constexpr auto kSlots = static_cast<int>(2 * kMaxStackRanks);
  AgentHarness agent(SmallOptions(kSlots));
  agent.RunRound(kSlots);
  std::vector<uint32_t> slots;
  for (uint32_t slot = 0; slot < kSlots; ++slot) slots.push_back(slot);
  const std::string text = Ask(agent, 7, slots);
  EXPECT_EQ(static_cast<size_t>(std::count(text.begin(), text.end(), '=')), kMaxStackRanks) << text;
}

}  // namespace
}  // namespace muster::agent
