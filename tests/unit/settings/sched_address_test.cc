#include "common/settings/sched_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ParseHostAndPort, TakesHostsWithAndWithoutAPort) {
  const struct {
    std::string text, host;
    uint16_t port;
  } cases[] = {{"node1", "node1", 0},       {"node1:8118", "node1", 8118},
               {"10.0.0.1", "10.0.0.1", 0}, {"10.0.0.1:9000", "10.0.0.1", 9000},
               {"::1", "::1", 0},           {"[::1]", "::1", 0},
               {"[::1]:8118", "::1", 8118}, {"fd00::1:8118", "fd00::1:8118", 0}};
  for (const auto& c : cases) {
    std::string host;
    uint16_t port = 1;
    EXPECT_TRUE(ParseHostAndPort(c.text, &host, &port).ok()) << c.text;
    EXPECT_EQ(host, c.host) << c.text;
    EXPECT_EQ(port, c.port) << c.text;
  }
}

TEST(ParseHostAndPort, SaysTheRule) {
  const struct {
    std::string text, rule;
  } cases[] = {{"", "must be a host name"},
               {"node1:", "HOST or HOST:PORT"},
               {"node1:80", "HOST or HOST:PORT"},
               {"node1:x", "HOST or HOST:PORT"},
               {":8118", "must be a host name"},
               {"node1:1:2000", "without a port"},
               {"[node1]:8118", "must have an IPv6 address"},
               {"[::1", "HOST or HOST:PORT"},
               {"[::1]8118", "must have :PORT"},
               {"[10.0.0.1]:8118", "must have an IPv6 address"},
               {"[::1]:", "HOST or HOST:PORT"},
               {"[fe80::1%eth0]:8118", "link-local"},
               {"[fe80::1]:8118", "link-local"},
               {"fe80::1%eth0", "link-local"},
               {"febf::1", "link-local"}};
  for (const auto& c : cases) {
    std::string host = "before";
    uint16_t port = 0;
    const absl::Status status = ParseHostAndPort(c.text, &host, &port);
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.rule)) << c.text;
    EXPECT_EQ(host, "before") << c.text;
  }
}

struct Loaded {
  explicit Loaded(const std::vector<std::string>& args, const std::map<std::string, std::string>& variables = {}) {
    SettingsTable table("demo", "demo", "A demo.");
    AddSchedAddress(table, &host, &port, false, {"Host.", "Port."});
    result = LoadSettings(table, args, variables);
  }
  std::string host = "127.0.0.1";
  uint16_t port = 8118;
  LoadResult result;
};

TEST(SchedAddress, APortBehindTheHostIsTaken) {
  const Loaded flag({"--sched_host", "node1:9000"});
  EXPECT_EQ(flag.host, "node1");
  EXPECT_EQ(flag.port, 9000);
  EXPECT_EQ(flag.result.sources.at("sched_port"), "--sched_host");
  EXPECT_EQ(Loaded({}, {{"MS_SCHED_HOST", "[::1]:9000"}}).port, 9000);
  EXPECT_EQ(Loaded({"--sched_host=node1"}, {{"MS_SCHED_PORT", "9001"}}).port, 9001);
  const Loaded twice({"--sched_host=node1:9000", "--sched_port=9000"});
  EXPECT_THAT(twice.result.findings.errors, IsEmpty());
}

TEST(SchedAddress, AnotherPortIsAContradictionUnlessItIsFromFurtherBehind) {
  const Loaded flags({"--sched_host=node1:9000", "--sched_port=9001"});
  EXPECT_THAT(flags.result.findings.errors,
              ElementsAre("sched_host (from --sched_host) names port 9000, but sched_port (from --sched_port) is 9001; "
                          "give the port once"));
  const std::map<std::string, std::string> both = {{"MS_SCHED_HOST", "node1:9000"}, {"MS_SCHED_PORT", "9001"}};
  EXPECT_EQ(Loaded({}, both).result.findings.errors.size(), 1u);
  EXPECT_EQ(Loaded({"--sched_port=9002"}, {{"MS_SCHED_HOST", "node1:9000"}}).result.findings.errors.size(), 1u);
  const Loaded behind({"--sched_host=node1:9000"}, {{"MS_SCHED_PORT", "9001"}});
  EXPECT_THAT(behind.result.findings.errors, IsEmpty());
  EXPECT_EQ(behind.port, 9000);
}

}  // namespace
}  // namespace muster
