#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "common/base/limits.h"
#include "tests/unit/agent_core/agent_harness.h"
#include "worker_agent/core/connection/reporter.h"

namespace muster::agent {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Reporting, AHeartbeatEachInterval) {
  AgentHarness agent;
  agent.Begin();
  agent.Welcome();
  EXPECT_EQ(agent.Pass(absl::Seconds(2)), "send 1: report 1\n");
  EXPECT_EQ(agent.Pass(absl::Seconds(4)), "send 1: report 2\nsend 1: report 3\n");
  v1::SchedulerMessage message;
  message.mutable_acknowledgement()->set_heartbeat_seq(3);
  message.mutable_acknowledgement()->set_heartbeat_interval_ms(500);
  agent.Receive(message);
  agent.Pass(absl::Milliseconds(500));
  const std::string text = agent.Pass(absl::Seconds(1));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
}

TEST(Reporting, AnEventIsSaidAtOnceAndAgainUntilItIsAcknowledged) {
  AgentHarness agent;
  agent.Begin();
  agent.Welcome();
  agent.Desire(Running(1));
  agent.Peers(1);
  EXPECT_EQ(agent.Started(0), "send 1: report 1, #1 started 0/1/0\n");
  EXPECT_EQ(agent.Pass(absl::Seconds(2)), "send 1: report 2, #1 started 0/1/0 age=2000ms\n");
  EXPECT_EQ(agent.Acknowledge(1), "");
  EXPECT_EQ(agent.Pass(absl::Seconds(2)), "send 1: report 3\n");
}

TEST(Reporter, RemoteCommandsAreCutAndOnlySoManyWait) {
  Reporter reporter;
  reporter.StreamOpened(MonotonicTime(), absl::Seconds(2), absl::ZeroDuration());
  v1::RemoteCommands commands;
  commands.set_from(std::string(2000, 'f'));
  commands.set_words(std::string(2000, 'w'));
  commands.set_why(std::string(2000, 'y'));
  for (size_t i = 0; i < 2 * kMaxCommandsWaiting; ++i) reporter.AddCommands(commands, MonotonicTime());
  size_t reported = 0;
  while (!reporter.IsAllAcknowledged()) {
    const v1::Report report = reporter.MakeReport(MonotonicTime());
    for (const v1::NodeEvent& event : report.events()) {
      ++reported;
      EXPECT_EQ(event.remote_commands().count(), 1U);
      EXPECT_LE(event.remote_commands().from().size(), kMaxShortTextBytes);
      EXPECT_LE(event.remote_commands().words().size(), kMaxShownCommandBytes);
      EXPECT_LE(event.remote_commands().why().size(), kMaxShortTextBytes);
    }
    reporter.Acknowledge(report.events().rbegin()->number());
  }
  EXPECT_EQ(reported, kMaxCommandsWaiting);
  reporter.AddCommands(commands, MonotonicTime());
  EXPECT_FALSE(reporter.IsAllAcknowledged());
}

TEST(Reporting, WhatWasNotAcknowledgedIsSaidAgainAfterAReconnect) {
  AgentHarness agent;
  agent.RunRound(2);
  agent.Break("Socket closed");
  EXPECT_THAT(agent.Ended(0, 3), Not(HasSubstr("report")));
  agent.Pass(absl::Milliseconds(200));
  EXPECT_THAT(agent.Welcome(true, 2), HasSubstr("#3 ended 0/1/0 code=3 signal=0"));
  EXPECT_EQ(agent.Acknowledge(3), "");
}

TEST(Reporting, TheWelcomeAcknowledgesToo) {
  AgentHarness agent;
  agent.RunRound();
  agent.Ended(0, 0);
  agent.Break("Socket closed");
  agent.Pass(absl::Milliseconds(200));
  EXPECT_THAT(agent.Welcome(true, 2), Not(ContainsRegex("(^|\n)report ")));
}

TEST(Reporting, ALateEventCarriesItsAge) {
  AgentHarness agent;
  agent.RunRound();
  agent.Pass(absl::Seconds(5));
  ProcessHasEnded event;
  event.key.round = 1;
  event.age = absl::Milliseconds(700);
  EXPECT_THAT(agent.Do(event), HasSubstr("#2 ended 0/1/0 code=0 signal=0 age=700ms"));
}

TEST(Reporting, RepetitionsAndUnknownProcessesAreNotReported) {
  AgentHarness agent;
  agent.RunRound();
  EXPECT_THAT(agent.Ended(0, 1), HasSubstr("#2 ended"));
  EXPECT_EQ(agent.Ended(0, 1), "");
  EXPECT_EQ(agent.Ended(7, 1), "");
  EXPECT_EQ(agent.Started(7), "");
}

TEST(Reporting, AProbeIsAnsweredAtOnce) {
  AgentHarness agent;
  agent.Begin();
  agent.Welcome();
  v1::SchedulerMessage message;
  message.mutable_probe()->set_probe(77);
  EXPECT_EQ(agent.Receive(message), "send 1: probe answer 77\n");
}

TEST(Reporting, WaitingIsShownAsProgress) {
  AgentHarness agent;
  agent.Begin();
  agent.Welcome();
  v1::SchedulerMessage message;
  message.mutable_acknowledgement()->mutable_waiting()->set_text("7 of 8 workers are here");
  EXPECT_EQ(agent.Receive(message), "progress: 7 of 8 workers are here\n");
}

// The report's window: contiguous from the oldest unacknowledged event, bounded, moved by acknowledgements.
TEST(Reporting, ManyEventsGoOutInOrderAndBounded) {
  Reporter reporter;
  MonotonicTime now;
  reporter.StreamOpened(now, absl::Seconds(2), absl::Seconds(2));
  const size_t total = 3 * kMaxEventsPerReport + 1;
  for (size_t i = 0; i < total; ++i) {
    reporter.AddStart({}, 0, now);
  }
  uint64_t through = 0;
  while (reporter.IsDue(now)) {
    const v1::Report report = reporter.MakeReport(now);
    ASSERT_LE(report.events_size(), static_cast<int>(kMaxEventsPerReport));
    for (const v1::NodeEvent& event : report.events()) ASSERT_EQ(event.number(), ++through);
    reporter.Acknowledge(through);
    reporter.CheckInvariants();
  }
  EXPECT_EQ(through, total);
  EXPECT_TRUE(reporter.IsAllAcknowledged());
}

// Events of the largest size: 64 of them would be more than a message may hold.
TEST(Reporting, AReportFitsIntoAMessage) {
  Reporter reporter;
  MonotonicTime now;
  reporter.StreamOpened(now, absl::Seconds(2), absl::Seconds(2));
  for (size_t i = 0; i < kMaxEventsPerReport; ++i) {
    ProcessEnd end;
    end.error_message = std::string(kMaxErrorMessageBytes, 'e');
    end.launch_error = std::string(kMaxShortTextBytes, 'l');
    end.last_lines.assign(kMaxLastLines, std::string(kMaxLastLineBytes, 'x'));
    end.exception = {std::string(kMaxShortTextBytes, 't'), std::string(kMaxExceptionBytes, 'm'),
                     std::string(kMaxShortTextBytes, 'f'), 1, false};
    reporter.AddEnd({}, end, now);
  }
  uint64_t through = 0;
  int reports = 0;
  for (; reporter.IsDue(now); ++reports) {
    v1::AgentMessage message;
    *message.mutable_report() = reporter.MakeReport(now);
    EXPECT_LE(message.ByteSizeLong(), kMaxSessionMessageBytes);
    ASSERT_GT(message.report().events_size(), 0);
    through += static_cast<uint64_t>(message.report().events_size());
    reporter.Acknowledge(through);
  }
  EXPECT_EQ(through, kMaxEventsPerReport);
  EXPECT_GT(reports, 1);
}

TEST(Reporting, TextsBeyondTheirLimitsAreCutBetweenCharacters) {
  Reporter reporter;
  MonotonicTime now;
  ProcessEnd end;
  end.launch_error = std::string(kMaxShortTextBytes - 1, 'l') + "\u00e9";
  end.log_file = "/logs/worker_0.log";
  for (int line = 0; line < 30; ++line) end.last_lines.push_back(std::to_string(line));
  reporter.AddEnd({}, end, now);
  const v1::Report report = reporter.MakeReport(now);
  EXPECT_EQ(report.events(0).ended().launch_error(), std::string(kMaxShortTextBytes - 1, 'l'));
  EXPECT_EQ(report.events(0).ended().log_file(), "/logs/worker_0.log");
  ASSERT_EQ(report.events(0).ended().last_lines_size(), static_cast<int>(kMaxLastLines));
  EXPECT_EQ(report.events(0).ended().last_lines(0), "10");  // the last ones stay
}

TEST(Reporting, AnEndIsReportedInFull) {
  Reporter reporter;
  reporter.StreamOpened({}, absl::Seconds(2), absl::Seconds(2));
  reporter.AddEnd({1, 2, 3}, {{0, 11, true}, true, "boom", {"x", "y"}, ""}, {});
  reporter.AddEnd({1, 2, 3}, {{127, 0}, false, "", {}, "not found"}, {});
  reporter.AddEnd({1, 2, 3}, {{0, 9}, false, "", {}, "", {true, 512, 511}}, {});
  ProcessEnd raised;
  raised.exit.code = 1;
  raised.exception = {"KeyError", "'lr'", "train.py", 7, false};
  reporter.AddEnd({1, 2, 3}, raised, {});
  const v1::Report report = reporter.MakeReport({});
  const v1::ProcessEnded& killed = report.events(0).ended();
  EXPECT_EQ(killed.slot(), 1u);
  EXPECT_EQ(killed.round(), 2u);
  EXPECT_EQ(killed.attempt(), 3u);
  EXPECT_EQ(killed.exit_code(), 0);
  EXPECT_EQ(killed.signal(), 11);
  EXPECT_TRUE(killed.core_dumped());
  EXPECT_TRUE(killed.was_stopped());
  EXPECT_EQ(killed.error_message(), "boom");
  EXPECT_THAT(killed.last_lines(), testing::ElementsAre("x", "y"));
  EXPECT_EQ(report.events(1).ended().exit_code(), 127);
  EXPECT_EQ(report.events(1).ended().launch_error(), "not found");
  EXPECT_FALSE(report.events(1).ended().has_memory());
  EXPECT_EQ(report.events(2).ended().memory().limit_bytes(), 512u);
  EXPECT_EQ(report.events(2).ended().memory().peak_bytes(), 511u);
  EXPECT_FALSE(report.events(2).ended().has_exception());
  EXPECT_EQ(report.events(3).ended().exception().type(), "KeyError");
  EXPECT_EQ(report.events(3).ended().exception().message(), "'lr'");
  EXPECT_EQ(report.events(3).ended().exception().file(), "train.py");
  EXPECT_EQ(report.events(3).ended().exception().line(), 7u);
}

TEST(Reporting, UnansweredHeartbeatsDontPileUp) {
  Reporter reporter;
  MonotonicTime now;
  reporter.StreamOpened(now, absl::Seconds(1), absl::Seconds(1));
  for (int i = 0; i < 1000; ++i) {
    now = now + absl::Seconds(1);
    reporter.MakeReport(now);
    reporter.CheckInvariants();
  }
  EXPECT_FALSE(reporter.TakeSentAt(1).has_value());
  EXPECT_EQ(reporter.TakeSentAt(1000), now);
}

TEST(Reporting, ALogFileThatCantBeToldAsItIsIsNotTold) {
  for (const std::string& path : {std::string(kMaxLogFileBytes + 1, 'x'), std::string("/a\nb"), std::string("/\xff")}) {
    Reporter reporter;
    ProcessEnd end;
    end.log_file = path;
    reporter.AddEnd({}, end, MonotonicTime());
    EXPECT_EQ(reporter.MakeReport(MonotonicTime()).events(0).ended().log_file(), "") << path;
  }
}

}  // namespace
}  // namespace muster::agent
