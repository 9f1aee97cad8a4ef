#include "worker_agent/devices/device_cpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../launch/temporary_folder.h"

namespace muster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

HostRoots RootsIn(const TemporaryFolder& folder) {
  HostRoots roots;
  roots.sys = folder.path() + "/sys";
  roots.proc = folder.path() + "/proc";
  return roots;
}

TEST(CpusOfDevice, AnAscendDeviceIsFoundInItsClass) {
  const TemporaryFolder folder;
  folder.Write("sys/class/drm/card0/device/numa_node", "0\n");
  folder.Write("sys/class/devdrv-class/davinci5/device/numa_node", "1\n");
  folder.Write("sys/devices/system/node/node1/cpulist", "4-6,12\n");
  EXPECT_THAT(CpusOfDevice("Ascend", 5, RootsIn(folder)), ElementsAre(4, 5, 6, 12));
  EXPECT_THAT(CpusOfDevice("Ascend", 4, RootsIn(folder)), IsEmpty());
}

TEST(CpusOfDevice, AnNvidiaDeviceIsFoundByItsMinorNumber) {
  const TemporaryFolder folder;
  folder.Write("proc/driver/nvidia/gpus/0000:3B:00.0/information", "Model: \t A100\nDevice Minor: \t 1\n");
  folder.Write("proc/driver/nvidia/gpus/0000:af:00.0/information", "Model: \t A100\nDevice Minor: \t 0\n");
  folder.Write("sys/bus/pci/devices/0000:3b:00.0/numa_node", "0\n");
  folder.Write("sys/devices/system/node/node0/cpulist", "0-1\n");
  EXPECT_THAT(CpusOfDevice("NVIDIA", 1, RootsIn(folder)), ElementsAre(0, 1));
  EXPECT_THAT(CpusOfDevice("NVIDIA", 0, RootsIn(folder)), IsEmpty());
}

TEST(CpusOfDevice, OneNodeOrNonsenseBindsNothing) {
  const TemporaryFolder folder;
  folder.Write("sys/class/devdrv-class/davinci0/device/numa_node", "-1\n");
  folder.Write("sys/class/devdrv-class/davinci1/device/numa_node", "x");
  folder.Write("sys/class/devdrv-class/davinci2/device/numa_node", "7");
  folder.Write("sys/devices/system/node/node7/cpulist", "\n");
  for (const uint32_t number : {0, 1, 2, 3}) {
    EXPECT_THAT(CpusOfDevice("Ascend", number, RootsIn(folder)), IsEmpty()) << number;
  }
}

}  // namespace
}  // namespace muster::agent
