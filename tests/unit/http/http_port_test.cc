#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/net/ip_address.h"
#include "scheduler/listening.h"

namespace muster::scheduler {
namespace {

// "host:port", with "!" after it if the user chose it; "off"; "error".
std::string Plan(const std::string& http_address, uint16_t sched_port, bool once = false) {
  SchedulerSettings settings;
  settings.http_address = http_address;
  settings.sched_port = sched_port;
  settings.once = once;
  const auto place = PlanHttp(settings, sched_port == 0 ? 40000 : sched_port);
  if (!place.ok()) return "error";
  if (!place->has_value()) return "off";
  return absl::StrCat(JoinHostPort((*place)->host, (*place)->port), (*place)->is_named ? "!" : "");
}

TEST(PlanHttp, FollowsTheTable) {
  EXPECT_EQ(Plan("", 8118), "127.0.0.1:8120");
  EXPECT_EQ(Plan("", 0), "off");
  EXPECT_EQ(Plan("", 8118, true), "off");
  EXPECT_EQ(Plan("", 65534), "off");
  EXPECT_EQ(Plan("off", 8118), "off");
  EXPECT_EQ(Plan("node1", 8118), "node1:8120!");
  EXPECT_EQ(Plan("node1", 0), "node1:40002!");
  EXPECT_EQ(Plan("node1:9000", 8118, true), "node1:9000!");
  EXPECT_EQ(Plan("127.0.0.1:0", 8118), "127.0.0.1:0!");
  EXPECT_EQ(Plan("[::1]:0", 8118), "[::1]:0!");
  EXPECT_EQ(Plan("::1", 8118), "[::1]:8120!");
  EXPECT_EQ(Plan("node1:80", 8118), "error");
  EXPECT_EQ(Plan("no de", 8118), "error");
}

TEST(HttpNames, AreWhatTheUserSaysBesidesTheOwnOnes) {
  SchedulerSettings settings;
  settings.sched_host = "sched";
  settings.http_names = "node1.cluster.local, muster.example";
  const http::HostRule rule(HttpNames(settings, "0.0.0.0"));
  EXPECT_TRUE(rule.Takes("node1.cluster.local:8120"));
  EXPECT_TRUE(rule.Takes("Muster.example."));
  EXPECT_TRUE(rule.Takes("sched"));
  EXPECT_FALSE(rule.Takes("evil.example"));
  EXPECT_FALSE(rule.Takes(""));
}

TEST(CheckHttpReach, BeyondLoopbackWantsCertificatesOrAToken) {
  EXPECT_TRUE(CheckHttpReach(true, false, false).ok());
  EXPECT_TRUE(CheckHttpReach(false, true, false).ok());
  EXPECT_TRUE(CheckHttpReach(false, false, true).ok());
  const absl::Status refused = CheckHttpReach(false, false, false);
  EXPECT_NE(refused.message().find("--http_token_file"), std::string::npos) << refused;
}

}  // namespace
}  // namespace muster::scheduler
