#include "worker_agent/keeper/files/device_log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../launch/temporary_folder.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/limits.h"

namespace muster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

void SetAge(const std::string& path, time_t seconds) {
  const timespec times[2] = {{1'790'000'000 - seconds, 0}, {1'790'000'000 - seconds, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

TEST(DeviceLog, TheNewestFileOfTheProcessAndItsLastErrors) {
  const TemporaryFolder folder;
  SetAge(folder.Write("debug/plog/plog-47_1.log", "[ERROR] HCCL: old\n"), 60);
  const std::string newest = folder.Write(
      "run/plog/plog-47_2.log", "[ERROR] 1\n[INFO] 2\n[ERROR] 3\n[ERROR] 4\n[ERROR] 5\n[ERROR] \x1b[31m6\n[INFO] 7\n");
  SetAge(newest, 30);
  SetAge(folder.Write("debug/plog/plog-471_3.log", "[ERROR] another's\n"), 0);
  const std::vector<std::string> lines = absl::StrSplit(ReadDeviceLog(folder.path(), 47), '\n');
  EXPECT_THAT(
      lines, ElementsAre(absl::StrCat("device log ", newest, ":"), "[ERROR] 3", "[ERROR] 4", "[ERROR] 5", "[ERROR] 6"));
}

TEST(DeviceLog, NothingToReport) {
  const TemporaryFolder folder;
  folder.Write("debug/plog/plog-47_1.log", "[INFO] well\n");
  folder.Write("secret", "[ERROR] secret\n");
  ASSERT_EQ(symlink((folder.path() + "/secret").c_str(), (folder.path() + "/debug/plog/plog-48_1.log").c_str()), 0);
  ASSERT_EQ(mkfifo((folder.path() + "/debug/plog/plog-49_1.log").c_str(), 0600), 0);
  for (const int64_t pid : {0, -1, 4, 47, 48, 49}) EXPECT_EQ(ReadDeviceLog(folder.path(), pid), "") << pid;
  EXPECT_EQ(ReadDeviceLog("/nowhere", 47), "");
}

TEST(DeviceLog, IsBounded) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 20'000; ++i) absl::StrAppend(&text, "[ERROR] ", i, std::string(600, 'x'), "\n");
  folder.Write("debug/plog/plog-47_1.log", text);
  const std::vector<std::string> lines = absl::StrSplit(ReadDeviceLog(folder.path(), 47), '\n');
  ASSERT_THAT(lines, SizeIs(5));
  EXPECT_THAT(lines.back(), StartsWith("[ERROR] 19999"));
  for (const std::string& line : lines) EXPECT_LE(line.size(), kMaxLastLineBytes);
}

TEST(DeviceLog, StandsBeforeTheOutputAndTheOldestLinesMakeRoom) {
  std::vector<std::string> output;
  for (size_t i = 0; i < kMaxLastLines; ++i) output.push_back(absl::StrCat("line ", i));
  PutInFront("device log /p:\n[ERROR] 1", output);
  EXPECT_THAT(output, SizeIs(kMaxLastLines));
  EXPECT_EQ(output[0], "device log /p:");
  EXPECT_EQ(output[2], "line 2");
  EXPECT_EQ(output.back(), absl::StrCat("line ", kMaxLastLines - 1));
  std::vector<std::string> none;
  PutInFront("", none);
  EXPECT_THAT(none, SizeIs(0));
}

TEST(DeviceLog, Folder) {
  EXPECT_EQ(DeviceLogFolder({"HOME=/h", "ASCEND_PROCESS_LOG_PATH=/l"}), "/l");
  EXPECT_EQ(DeviceLogFolder({"HOME=/h", "ASCEND_PROCESS_LOG_PATH="}), "/h/ascend/log");
  EXPECT_EQ(DeviceLogFolder({"HOMER=/h"}), "");
}

}  // namespace
}  // namespace muster::agent
