#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "worker_agent/preflight/scheduler_reach.h"

namespace muster::agent {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Reach {
  std::string host;
  std::vector<const char*> addresses;
  std::optional<uint32_t> worker_num;
  uint32_t slots;
  bool is_told;
};

TEST(LoopbackRemark, Table) {
  const Reach cases[] = {
      {"localhost", {"::1", "127.0.0.1"}, 2, 1, true},
      {"127.0.0.1", {"127.0.0.1"}, 16, 8, true},
      {"head", {"127.0.0.1"}, 2, 1, true},
      {"0.0.0.0", {"0.0.0.0"}, 2, 1, true},
      {"node1", {"127.0.1.1"}, 2, 1, false},  // this host's own name
      {"node1.cluster", {"127.0.1.1"}, 2, 1, false},
      {"localhost", {"127.0.0.1"}, 8, 8, false},
      {"localhost", {"127.0.0.1"}, std::nullopt, 1, false},
      {"10.0.0.1", {"10.0.0.1"}, 2, 1, false},
      {"head", {"127.0.1.1", "10.0.0.1"}, 2, 1, false},
      {"head", {}, 2, 1, false},
  };
  for (const Reach& c : cases) {
    AgentSettings settings;
    settings.sched_host = c.host;
    settings.worker_num = c.worker_num;
    std::vector<IpAddress> addresses;
    for (const char* text : c.addresses) addresses.push_back(*IpAddress::Parse(text));
    const std::string remark = LoopbackRemark(settings, addresses, c.slots, "node1.example.org");
    EXPECT_EQ(!remark.empty(), c.is_told) << c.host << ": " << remark;
    settings.standalone = true;
    EXPECT_EQ(LoopbackRemark(settings, addresses, c.slots, "node1"), "");
  }
  AgentSettings settings;
  settings.sched_host = "localhost";
  settings.worker_num = 2;
  EXPECT_THAT(LoopbackRemark(settings, {*IpAddress::Parse("127.0.0.1")}, 1, "localhost"),
              AllOf(HasSubstr("is localhost"), HasSubstr("2 processes, 1 of them here"), HasSubstr("--sched_host")));
  settings.worker_num = 1;
  settings.spare = true;
  EXPECT_THAT(LoopbackRemark(settings, {*IpAddress::Parse("127.0.0.1")}, 1, "node1"), HasSubstr("1 process,"));
}

}  // namespace
}  // namespace muster::agent
