#include "worker_agent/devices/kernel_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "tests/unit/launch/temporary_folder.h"

namespace muster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr char kFallen[] = "NVRM: Xid (PCI:0000:3b:00): 79, pid=12, name=python3, GPU has fallen off the bus.";
constexpr char kOther[] = "NVRM: Xid (PCI:0000:5e:00): 79, pid=12, name=python3, GPU has fallen off the bus.";

// A file stands for /dev/kmsg: it gives one record for each read, because each test reads after each record.
class KernelLogTest : public ::testing::Test {
 protected:
  KernelLogTest() {
    nowhere_.proc = nowhere_.dev = "/nowhere";
    roots_.proc = folder_.path() + "/proc";
    roots_.dev = folder_.path() + "/dev";
    std::filesystem::create_directories(roots_.dev);
    AddGpu("0000:3B:00.0", "Model: \t\t H200\nDevice Minor: \t 0\n");
    AddGpu("0000:5e:00.0", "Device Minor: 1\n");
    AddGpu("0000:86:00.0", "Device Minor: none\n");
    std::ofstream(roots_.dev + "/kmsg") << "6,1,0,-;before\n";
  }

  void AddGpu(const std::string& bus, const std::string& information) {
    const std::string gpu = absl::StrCat(roots_.proc, "/driver/nvidia/gpus/", bus);
    std::filesystem::create_directories(gpu);
    std::ofstream(gpu + "/information") << information;
  }

  void Write(const std::string& message) {
    std::ofstream(roots_.dev + "/kmsg", std::ios::app) << absl::StrCat("4,", ++number_, ",5140900,-;", message, "\n");
  }

  const TemporaryFolder folder_;
  HostRoots roots_;
  HostRoots nowhere_;
  const MonotonicTime now_ = MonotonicTime() + absl::Hours(1);
  int number_ = 1;
};

TEST_F(KernelLogTest, KnowsTheDevicesByTheirAddresses) {
  EXPECT_THAT(NvidiaDevicesByAddress(roots_), ElementsAre(Pair("0000:3b:00", 0), Pair("0000:5e:00", 1)));
  EXPECT_THAT(NvidiaDevicesByAddress(nowhere_), IsEmpty());
}

TEST_F(KernelLogTest, TakesFaultsOfItsDevicesThatComeAfterTheOpen) {
  Write(kFallen);
  KernelLog log = KernelLog::Open(roots_, {{"0000:3b:00", 0}});
  log.Read(now_);
  EXPECT_EQ(log.count(), 0u) << "it came before";
  for (const char* line : {kOther, "NVRM: Xid (PCI:0000:3b:00): 13, Graphics Exception", "usb 1-1: new device",
                           "python3: NVRM: Xid (PCI:0000:3b:00): 79 in the name of a process", kFallen}) {
    Write(line);
    log.Read(now_);
  }
  EXPECT_EQ(log.count(), 1u);
  EXPECT_THAT(log.FaultsAfter(0, 0, now_), ElementsAre(kFallen));
  EXPECT_THAT(log.FaultsAfter(0, std::nullopt, now_), ElementsAre(kFallen));
  EXPECT_THAT(log.FaultsAfter(0, 1, now_), IsEmpty()) << "another device";
  EXPECT_THAT(log.FaultsAfter(1, 0, now_), IsEmpty()) << "the process started later";
  EXPECT_THAT(log.FaultsAfter(0, 0, now_ + KernelLog::kMaxAge), SizeIs(1));
  EXPECT_THAT(log.FaultsAfter(0, 0, now_ + KernelLog::kMaxAge + absl::Seconds(1)), IsEmpty())
      << "the process has gone on after it";
}

TEST_F(KernelLogTest, AFaultOfAnNvSwitchConcernsAllDevices) {
  KernelLog log = KernelLog::Open(roots_, {{"0000:3b:00", 0}});
  Write("nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20009, Fatal, Link 30 RX Short Error Rate");
  log.Read(now_);
  EXPECT_THAT(log.FaultsAfter(0, 0, now_), SizeIs(1));
  EXPECT_THAT(log.FaultsAfter(0, 1, now_), SizeIs(1));
}

TEST_F(KernelLogTest, KeepsTheNewestAndBoundsThem) {
  KernelLog log = KernelLog::Open(roots_, {{"0000:3b:00", 0}});
  for (int i = 0; i < 200; ++i) {
    Write(absl::StrCat("NVRM: Xid (PCI:0000:3b:00): 79, number ", i, std::string(2000, 'x')));
    log.Read(now_);
  }
  EXPECT_EQ(log.count(), 200u);
  const std::vector<std::string> lines = log.FaultsAfter(0, 0, now_);
  ASSERT_THAT(lines, SizeIs(kMaxKernelLines));
  for (const std::string& line : lines) EXPECT_EQ(line.size(), kMaxLastLineBytes);
  EXPECT_EQ(lines.back().substr(0, 50), "NVRM: Xid (PCI:0000:3b:00): 79, number 199xxxxxxxx");
}

TEST_F(KernelLogTest, WithoutDevicesOrALogItKnowsOfNothing) {
  for (KernelLog& log :
       std::array{KernelLog(), KernelLog::Open(roots_, {}), KernelLog::Open(nowhere_, {{"0000:3b:00", 0}})}) {
    log.Read(now_);
    EXPECT_EQ(log.count(), 0u);
  }
}

}  // namespace
}  // namespace muster::agent
