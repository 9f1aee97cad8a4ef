#include <gtest/gtest.h>

#include "tests/unit/mpi/sample_layout.h"
#include "worker_agent/gateway/mpi/pmi1.h"

namespace muster::agent {
namespace {

TEST(ProcessMapping, IsShort) {
  EXPECT_EQ(ProcessMapping(SampleLayout(1, 8), 1023), "(vector,(0,1,8))");
  EXPECT_EQ(ProcessMapping(SampleLayout(1000, 8), 1023), "(vector,(0,1000,8))");
  RoundLayout scattered = SampleLayout(2, 2);
  scattered.agents[0].ranks = {0, 3};
  scattered.agents[1].ranks = {1, 2};
  EXPECT_EQ(ProcessMapping(scattered, 1023), "(vector,(0,1,1),(1,1,2),(0,1,1))");
  EXPECT_EQ(ProcessMapping(scattered, 10), "");
}

}  // namespace
}  // namespace muster::agent
