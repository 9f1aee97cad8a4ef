#include "worker_agent/machine/machine.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "tests/unit/launch/temporary_folder.h"

namespace muster::agent {
namespace {

TEST(MachineId, IsEqualWithinAMachineAndShort) {
  const auto id = MachineId("");
  ASSERT_TRUE(id.ok()) << id.status();
  EXPECT_EQ(id->size(), 16u);
  EXPECT_EQ(id->find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(*id, *MachineId(""));
}

TEST(MachineId, DiffersInAnotherNetworkNamespace) {
  const std::string here = *MachineId("");
  const pid_t pid = fork();
  if (pid == 0) {
    if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) _exit(2);
    _exit(*MachineId("") == here ? 1 : 0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "no network namespaces here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(MachineId, DependsOnEachPart) {
  const std::string id = HashMachine("boot", 4, 4026531840);
  EXPECT_NE(id, HashMachine("boot2", 4, 4026531840));
  EXPECT_NE(id, HashMachine("boot", 5, 4026531840));
  EXPECT_NE(id, HashMachine("boot", 4, 4026531841));
  EXPECT_NE(HashMachine("boot", 1, 11), HashMachine("boot", 11, 1));
}

TEST(MachineId, CanBeNamed) { EXPECT_EQ(*MachineId("left"), "name:left"); }

TEST(FindDevices, CountsAscendThenNvidiaThenOne) {
  const TemporaryFolder folder;
  EXPECT_EQ(FindDevices(folder.path(), {}).kind, "CPU");
  EXPECT_EQ(FindDevices(folder.path(), {}).count, 1u);
  for (const char* name : {"nvidia0", "nvidia1", "nvidia10", "nvidiactl", "nvidia-uvm", "nvidia"})
    folder.Write(name, "");
  EXPECT_EQ(FindDevices(folder.path(), {}).kind, "NVIDIA");
  EXPECT_EQ(FindDevices(folder.path(), {}).count, 3u);
  for (const char* name : {"davinci0", "davinci7", "davinci_manager"}) folder.Write(name, "");
  EXPECT_EQ(FindDevices(folder.path(), {}).kind, "Ascend");
  EXPECT_EQ(FindDevices(folder.path(), {}).count, 2u);
  EXPECT_EQ(FindDevices("/nowhere", {}).count, 1u);
}

TEST(FindDevices, VisibleDevicesNarrow) {
  const TemporaryFolder folder;
  for (const char* name : {"nvidia0", "nvidia1", "nvidia2", "nvidia3"}) folder.Write(name, "");
  const auto count = [&](const char* visible) {
    return FindDevices(folder.path(), {{"CUDA_VISIBLE_DEVICES", visible}}).count;
  };
  EXPECT_EQ(count("0,2"), 2u);
  EXPECT_EQ(count("0,1,2,3,4,5"), 4u);
  EXPECT_EQ(count("1,-1,2"), 1u);
  EXPECT_EQ(count("1,1"), 1u);
  EXPECT_EQ(count("GPU-8932f937-d72c-4106-c12f-20bd9faed9f6"), 1u);
  EXPECT_EQ(FindDevices(folder.path(), {{"CUDA_VISIBLE_DEVICES", ""}}).kind, "CPU");
}

TEST(LocalAddresses, HasLoopbackLast) {
  const std::vector<IpAddress> addresses = LocalAddresses();
  const auto first_loopback =
      std::find_if(addresses.begin(), addresses.end(), [](const IpAddress& a) { return a.is_loopback(); });
  ASSERT_NE(first_loopback, addresses.end());
  EXPECT_TRUE(std::all_of(first_loopback, addresses.end(), [](const IpAddress& a) { return a.is_loopback(); }));
}

}  // namespace
}  // namespace muster::agent
