#include "worker_agent/launch/cpu_binding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <set>

#include "tests/unit/launch/temporary_folder.h"

namespace muster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Cpus = std::vector<int>;

const Cpus kEight = {0, 1, 2, 3, 4, 5, 6, 7};

Cpus Chosen(const std::string& text, uint32_t local_rank, uint32_t local_world_size, const Cpus& cpus) {
  const auto choice = ChooseCpus(*ParseCoreBinding(text), local_rank, local_world_size, cpus);
  EXPECT_TRUE(choice.ok()) << choice.status();
  return choice->cpus;
}

TEST(ChooseCpus, OffMeansInherited) { EXPECT_THAT(Chosen("", 0, 2, kEight), IsEmpty()); }

TEST(ChooseCpus, AutoSharesEvenly) {
  EXPECT_THAT(Chosen("auto", 0, 2, kEight), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(Chosen("auto", 1, 2, kEight), ElementsAre(4, 5, 6, 7));
  // Every CPU occurs once; sizes differ by one at most.
  for (uint32_t size = 1; size <= 8; ++size) {
    std::multiset<int> all;
    for (uint32_t rank = 0; rank < size; ++rank) {
      const Cpus cpus = Chosen("auto", rank, size, kEight);
      EXPECT_GE(cpus.size(), 8 / size);
      EXPECT_LE(cpus.size(), 8 / size + 1);
      all.insert(cpus.begin(), cpus.end());
    }
    EXPECT_THAT(all, ::testing::ElementsAreArray(kEight)) << size;
  }
}

TEST(ChooseCpus, FewerCpusThanRanksGoRoundWithANotice) {
  std::set<std::string> notices;
  for (uint32_t rank = 0; rank < 5; ++rank) {
    const auto choice = ChooseCpus(*ParseCoreBinding("auto"), rank, 5, {2, 6});
    ASSERT_TRUE(choice.ok());
    EXPECT_THAT(choice->cpus, ElementsAre(rank % 2 == 0 ? 2 : 6));
    notices.insert(choice->notice);
  }
  ASSERT_EQ(notices.size(), 1u) << "it can be said once for all";
  EXPECT_THAT(*notices.begin(), HasSubstr("5 processes share 2 CPUs"));
}

TEST(ChooseCpus, TakesWhatIsNamed) {
  const char* text = "0:0-1,3;1:4";
  EXPECT_THAT(Chosen(text, 0, 2, kEight), ElementsAre(0, 1, 3));
  EXPECT_THAT(Chosen(text, 1, 2, kEight), ElementsAre(4));
  const auto unnamed = ChooseCpus(*ParseCoreBinding(text), 2, 3, kEight);
  EXPECT_THAT(unnamed->cpus, IsEmpty());
  EXPECT_THAT(unnamed->notice, HasSubstr("not bound"));
}

TEST(ChooseCpus, CpusThatAreNotAllowedAreNamed) {
  const auto choice = ChooseCpus(*ParseCoreBinding("0:0-9"), 0, 1, kEight);
  ASSERT_FALSE(choice.ok());
  EXPECT_THAT(std::string(choice.status().message()), HasSubstr("CPU 8"));
}

TEST(InNumaOrder, GroupsByNodeAndCore) {
  const TemporaryFolder sysfs;
  sysfs.Write("node/online", "0-1,3\n");
  sysfs.Write("node/node0/cpulist", "0,2,4,6\n");
  sysfs.Write("node/node1/cpulist", "1,3,5,7\n");
  sysfs.Write("node/node3/cpulist", "\n");  // has memory only
  for (int cpu = 0; cpu < 8; ++cpu) {       // threads of a core: 0 and 4, 1 and 5, …
    sysfs.Write("cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list",
                std::to_string(cpu % 4) + "," + std::to_string(cpu % 4 + 4) + "\n");
  }
  EXPECT_THAT(InNumaOrder(kEight, sysfs.path()), ElementsAre(0, 4, 2, 6, 1, 5, 3, 7));
  EXPECT_THAT(InNumaOrder({6, 7, 0}, sysfs.path()), ElementsAre(0, 6, 7));
}

TEST(InNumaOrder, WithoutSysfsIsByNumber) { EXPECT_THAT(InNumaOrder({3, 1, 2}, "/nowhere"), ElementsAre(1, 2, 3)); }

TEST(AllowedCpus, AreThoseOfTheScheduler) {
  const Cpus cpus = AllowedCpus();
  ASSERT_FALSE(cpus.empty());
  cpu_set_t set;
  ASSERT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
  EXPECT_EQ(static_cast<int>(cpus.size()), CPU_COUNT(&set));
  EXPECT_THAT(InNumaOrder(cpus), ::testing::UnorderedElementsAreArray(cpus));
}

}  // namespace
}  // namespace muster::agent
