#include "common/hosts/endpoints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/hosts/compare.h"

namespace muster {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Endpoints = std::map<std::string, std::string>;

v1::NodeInfo Node(const std::string& machine, const std::string& address, const Endpoints& endpoints) {
  v1::NodeInfo node;
  node.set_machine_id(machine);
  node.set_address(address);
  node.add_addresses(address);
  AddEndpointFacts(endpoints, node);
  return node;
}

// The remarks for a node on machine m1 at 10.0.0.2, with rank 0 on m0 at 10.0.0.1.
std::vector<std::string> Remarks(const Endpoints& own, const Endpoints& first, const std::string& machine = "m1",
                                 const std::string& master = "10.0.0.1") {
  const v1::NodeInfo node = Node(machine, "10.0.0.2", own);
  const v1::NodeInfo zero = Node("m0", "10.0.0.1", first);
  return EndpointRemarks(node, {"node a (host-a)", &zero, master, 29500});
}

TEST(EndpointRemarks, WhatIsTheSameOrNotSetIsFine) {
  EXPECT_THAT(Remarks({}, {}), IsEmpty());
  EXPECT_THAT(Remarks({}, {{"MASTER_PORT", "29511"}}), IsEmpty());
  for (const Endpoints& same :
       {Endpoints{{"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "29500"}}, Endpoints{{"MASTER_ADDR", "head"}},
        Endpoints{{"CM_CHIEF_IP", "10.0.0.1"}, {"CM_CHIEF_PORT", "6000"}},
        Endpoints{{"JAX_COORDINATOR_ADDRESS", "head:1234"}}}) {
    EXPECT_THAT(Remarks(same, same), IsEmpty());
  }
  EXPECT_THAT(Remarks({{"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "29500"}}, {}), IsEmpty()) << "rank 0's own";
  EXPECT_THAT(Remarks({{"JAX_COORDINATOR_ADDRESS", "head:1"}}, {}), IsEmpty()) << "rank 0's may be in its script";
}

TEST(EndpointRemarks, DifferencesAreReportedWithBothValuesAndTheRemedy) {
  EXPECT_THAT(Remarks({{"MASTER_PORT", "29512"}}, {{"MASTER_PORT", "29511"}}),
              ElementsAre("MASTER_PORT is 29512 here, but 29511 for rank 0's node a (host-a): the processes here would "
                          "wait for a server that is not there; leave it out on every node, or give all nodes the same "
                          "(--torch_master_port)"));
  EXPECT_THAT(Remarks({{"MASTER_PORT", "29512"}}, {}), ElementsAre(HasSubstr("but 29500 for rank 0's")));
  EXPECT_THAT(Remarks({{"MASTER_ADDR", "10.0.0.9"}}, {}), ElementsAre(HasSubstr("10.0.0.9 here, but 10.0.0.1 for")));
  EXPECT_THAT(Remarks({{"CM_CHIEF_IP", "10.0.0.2"}, {"CM_CHIEF_PORT", "1"}},
                      {{"CM_CHIEF_IP", "10.0.0.1"}, {"CM_CHIEF_PORT", "2"}}),
              ElementsAre(HasSubstr("CM_CHIEF_IP is 10.0.0.2"), HasSubstr("CM_CHIEF_PORT is 1 here, but 2 for")));
  EXPECT_THAT(Remarks({{"JAX_COORDINATOR_ADDRESS", "b:1"}}, {{"JAX_COORDINATOR_ADDRESS", "a:1"}}),
              ElementsAre(AllOf(HasSubstr("JAX_COORDINATOR_ADDRESS is b:1"), HasSubstr("(--env)"))));
}

TEST(EndpointRemarks, LoopbackReachesOnlyItsOwnMachine) {
  for (const Endpoints& loopback :
       {Endpoints{{"MASTER_ADDR", "127.0.0.1"}}, Endpoints{{"MASTER_ADDR", "0.0.0.0"}},
        Endpoints{{"CM_CHIEF_IP", "127.0.0.1"}}, Endpoints{{"JAX_COORDINATOR_ADDRESS", "localhost:1"}},
        Endpoints{{"JAX_COORDINATOR_ADDRESS", "[::1]:1"}}}) {
    EXPECT_THAT(Remarks(loopback, loopback), ElementsAre(HasSubstr("this machine only, but rank 0 is on node a")))
        << "also where all nodes say so";
    EXPECT_THAT(Remarks(loopback, loopback, "m0"), IsEmpty()) << "on rank 0's machine";
    EXPECT_THAT(Remarks(loopback, loopback, "m1", "127.0.0.1"), IsEmpty()) << "all came over loopback: one host";
  }
}

TEST(EndpointRemarks, ANameOfThisMachineMayStandForItsLoopbackOnIt) {
  v1::NodeInfo zero = Node("m0", "10.0.0.1", {{"MASTER_ADDR", "node1"}});
  zero.set_wanted_master_address("127.0.1.1");
  const FirstNode first{"node a", &zero, "10.0.0.1", 29500};
  EXPECT_THAT(EndpointRemarks(zero, first), IsEmpty());
  v1::NodeInfo other = Node("m1", "10.0.0.2", {{"MASTER_ADDR", "node1"}});
  other.set_wanted_master_address("10.0.0.1");
  EXPECT_THAT(EndpointRemarks(other, first), IsEmpty());
  other.set_wanted_master_address("127.0.1.1");
  EXPECT_THAT(EndpointRemarks(other, first), ElementsAre(HasSubstr("MASTER_ADDR is node1")));
}

TEST(EndpointRemarks, LongAndStrangeValuesDoNoHarm) {
  EXPECT_THAT(Remarks({{"MASTER_ADDR", std::string(10'000, 'x')}}, {}), IsEmpty()) << "no remark";
  for (const std::string& remark : Remarks(
           {{"MASTER_ADDR", std::string(256, 'x')}, {"MASTER_PORT", "a\nb"}, {"JAX_COORDINATOR_ADDRESS", ":"}}, {})) {
    EXPECT_LE(remark.size(), kMaxHostText);
    EXPECT_THAT(remark, ::testing::Not(HasSubstr("\n")));
  }
}

}  // namespace
}  // namespace muster
