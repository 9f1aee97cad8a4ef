#include "worker_agent/session/farewell.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/exit_codes.h"
#include "tests/unit/session/fake_scheduler.h"
#include "tests/unit/session/odd_ports.h"

namespace muster::agent {
namespace {

TEST(LastReport, ReachesTheSchedulerWithWhatTheAgentDiedOf) {
  FakeScheduler scheduler("127.0.0.1", [](const auto&, auto&) { return true; });
  v1::LastReportRequest last_report;
  last_report.set_job_id("j");
  last_report.set_node_id("n");
  last_report.set_run(2);
  last_report.set_incarnation(99);
  std::vector<std::string> arguments = FarewellArguments("ms-worker", "127.0.0.1", scheduler.port(), true, last_report);
  ASSERT_THAT(arguments, testing::SizeIs(8));
  EXPECT_EQ(arguments[1], kLastReportFlag);
  EXPECT_EQ(arguments[7], "requires_tls");
  EXPECT_EQ(arguments[5], "{signal}");
  arguments[5] = "9";
  arguments[6] = "0";
  EXPECT_EQ(RunLastReport({arguments.begin() + 2, arguments.end()}), 0);
  ASSERT_THAT(scheduler.LastReports(), testing::SizeIs(1));
  EXPECT_EQ(scheduler.LastReports()[0].signal(), 9);
  EXPECT_EQ(scheduler.LastReports()[0].incarnation(), 99u);
  EXPECT_EQ(RunLastReport({arguments.begin() + 2, arguments.end() - 1}), kExitUsage);
}

TEST(LastReport, GivesUpInTime) {
  const SilentPort port(false);
  EXPECT_FALSE(SendLastReport("127.0.0.1", port.port(), Security(), v1::LastReportRequest(), absl::Milliseconds(300)));
  EXPECT_EQ(RunLastReport({"127.0.0.1", "x"}), kExitUsage);
}

}  // namespace
}  // namespace muster::agent
