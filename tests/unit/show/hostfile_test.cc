#include "common/show/hostfile.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

void Add(v1::RanksReply& ranks, uint32_t rank, uint32_t machine, const std::string& address,
         v1::Role role = v1::ROLE_WORKER) {
  v1::RankStatus& added = *ranks.add_ranks();
  added.set_rank(rank);
  added.set_role(role);
  added.set_node_rank(machine);
  added.set_address(address);
  added.set_host_name("host" + std::to_string(machine));
}

TEST(HostFileTest, EachLauncherHasItsForm) {
  v1::RanksReply ranks;
  Add(ranks, 2, 1, "10.0.0.2");
  Add(ranks, 0, 0, "10.0.0.1");
  Add(ranks, 1, 0, "10.0.0.1");
  Add(ranks, 0, 0, "10.0.0.1", v1::ROLE_SERVER);
  EXPECT_EQ(HostFileText(ranks, "openmpi"), "10.0.0.1 slots=2\n10.0.0.2 slots=1\n");
  EXPECT_EQ(HostFileText(ranks, "deepspeed"), "10.0.0.1 slots=2\n10.0.0.2 slots=1\n");
  EXPECT_EQ(HostFileText(ranks, "mpich"), "10.0.0.1:2\n10.0.0.2:1\n");
  EXPECT_EQ(HostFileText(ranks, "horovod"), "10.0.0.1:2,10.0.0.2:1\n");
}

TEST(HostFileTest, AnAddressWithColonsIsNoWord) {
  v1::RanksReply ranks;
  Add(ranks, 0, 0, "fd00::1");
  EXPECT_EQ(HostFileText(ranks, "mpich"), "host0:1\n");
}

TEST(HostFileTest, WithoutRanksThereIsNone) { EXPECT_EQ(HostFileText({}, "openmpi"), ""); }

}  // namespace
}  // namespace muster
