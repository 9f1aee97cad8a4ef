#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "worker_agent/preflight/endpoints.h"

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
  bool is_warned;
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
    EXPECT_EQ(!remark.empty(), c.is_warned) << c.host << ": " << remark;
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

using Variables = std::map<std::string, std::string>;

TEST(Endpoints, AreThoseThatTheProcessesTakeFromTheUser) {
  AgentSettings settings;
  settings.command = {"train"};
  settings.master_addr = "node1";
  settings.master_port = "29500";
  const Variables environment = {
      {"CM_CHIEF_IP", "10.0.0.1"}, {"JAX_COORDINATOR_ADDRESS", "node1:1"}, {"HCCL_IF_IP", "10.0.0.7"}};
  EXPECT_EQ(EndpointsOf(settings, environment, false), (Variables{{"MASTER_ADDR", "node1"},
                                                                  {"MASTER_PORT", "29500"},
                                                                  {"CM_CHIEF_IP", "10.0.0.1"},
                                                                  {"JAX_COORDINATOR_ADDRESS", "node1:1"}}));
  settings.hccl_mode = "chief";
  settings.env = {{"MASTER_PORT", "3000"}, {"MASTER_ADDR", "{master_addr}"}};
  EXPECT_EQ(EndpointsOf(settings, environment, true), (Variables{{"MASTER_PORT", "3000"}}));
  settings.per_job = true;
  EXPECT_THAT(EndpointsOf(settings, environment, false), IsEmpty());
}

TEST(CheckOwnAddresses, WarnsOfAnotherMachinesAndOfLinkLocalOnes) {
  const auto is_local = [](const IpAddress& address) { return address.ToString() == "10.0.0.7"; };
  AgentSettings settings;
  EXPECT_THAT(CheckOwnAddresses(settings, {{"HCCL_IF_IP", "10.0.0.7"}, {"CM_WORKER_IP", "10.0.0.7"}}, is_local),
              IsEmpty());
  EXPECT_THAT(CheckOwnAddresses(settings, {{"HCCL_IF_IP", "10.0.0.8"}, {"CM_WORKER_IP", "10.0.0.9"}}, is_local),
              ElementsAre(HasSubstr("HCCL_IF_IP is 10.0.0.8, which is no address of this machine"),
                          HasSubstr("CM_WORKER_IP is 10.0.0.9")));
  settings.hccl_mode = "chief";
  EXPECT_THAT(CheckOwnAddresses(settings, {{"CM_WORKER_IP", "10.0.0.9"}}, is_local), IsEmpty()) << "ours";
  settings.env = {{"JAX_COORDINATOR_ADDRESS", "[fe80::1%eth0]:1234"}};
  EXPECT_THAT(CheckOwnAddresses(settings, {{"CM_CHIEF_IP", "fe80::2"}}, is_local),
              ElementsAre(HasSubstr("CM_CHIEF_IP is fe80::2"), HasSubstr("JAX_COORDINATOR_ADDRESS is [fe80::1%eth0]")));
}

}  // namespace
}  // namespace muster::agent
