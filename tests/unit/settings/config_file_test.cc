#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/unique_fd.h"
#include "common/settings/sources.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ConfigFileTest : public ::testing::Test {
 protected:
  ConfigFile Parse(const std::string& text) { return ParseConfigText(names_, "muster.conf", text); }
  // "flag=value@source" of each line.
  std::vector<std::string> Values(const std::string& text) {
    std::vector<std::string> values;
    for (const GivenValue& given : Parse(text).values) {
      values.push_back(absl::StrCat(given.setting->flag, "=", given.value, "@", given.source));
    }
    return values;
  }

  agent::AgentSettings settings_;
  const SettingsTable table_ = agent::AgentSettingsTable(settings_);
  const NameIndex names_{table_};
};

TEST_F(ConfigFileTest, ReadsKeysCommentsAndQuotes) {
  EXPECT_THAT(Values("# the job\n"
                     "worker_num = 8   # all of them\n"
                     "\n"
                     "MS_SCHED_HOST=node1\r\n"
                     "log-dir = \"/data/a # b\"\n"
                     "node_id='n#1'\n"
                     "machine = m#1\n"
                     "label = rack=r1\n"
                     "label = row=2\n"
                     "recovery_path ="),
              ElementsAre("worker_num=8@muster.conf:2", "sched_host=node1@muster.conf:4",
                          "log_dir=/data/a # b@muster.conf:5", "node_id=n#1@muster.conf:6", "machine=m#1@muster.conf:7",
                          "label=rack=r1@muster.conf:8", "label=row=2@muster.conf:9", "recovery_path=@muster.conf:10"));
}

TEST_F(ConfigFileTest, AnApostropheHidesNoComment) {
  EXPECT_THAT(Values("log_dir = it's # here"), ElementsAre("log_dir=it's@muster.conf:1"));
}

TEST_F(ConfigFileTest, AllMistakesAreNamedWithTheirLine) {
  EXPECT_THAT(Parse("workr_num = 8\n"
                    "once\n"
                    "worker_num = 8\n"
                    "MS_WORKER_NUM = 9\n"
                    "epochs = 3\n"
                    "nnodes = 2\n")
                  .errors,
              ElementsAre("muster.conf:1: unknown key \"workr_num\": did you mean worker_num?",
                          "muster.conf:2: \"once\" is no setting: write key = value",
                          "muster.conf:4: worker_num was already set at muster.conf:3: remove one of the lines",
                          "muster.conf:5: unknown key \"epochs\": remove the line",
                          "muster.conf:6: nnodes: the size of a job is counted in workers, not in nodes; write "
                          "--worker_num with the number of all workers (nodes × workers on each)"));
}

TEST_F(ConfigFileTest, FlagsOfTheCommandLineAloneAreNoKeys) {
  EXPECT_THAT(
      Parse("config = more.conf\nconfg = more.conf\nversion = 1\n").errors,
      ElementsAre("muster.conf:1: unknown key \"config\": a config file can't name another one; write the other "
                  "file's lines here",
                  "muster.conf:2: unknown key \"confg\": remove the line",
                  "muster.conf:3: unknown key \"version\": remove the line"));
}

TEST_F(ConfigFileTest, AMissingFileIsNamed) {
  EXPECT_THAT(ReadConfigFile(names_, "/nowhere/muster.conf").errors,
              ElementsAre("--config: /nowhere/muster.conf can't be read: No such file or directory; name a text file "
                          "of at most 1 MiB that this user may read"));
  EXPECT_THAT(ReadConfigFile(names_, "/tmp").errors, ElementsAre(HasSubstr("/tmp is a directory")));
  EXPECT_THAT(ReadConfigFile(names_, "/dev/zero").errors, ElementsAre(HasSubstr("/dev/zero is a device")));
}

// Like `--config <(command)`.
TEST_F(ConfigFileTest, APipeIsReadToItsEnd) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd out(ends[0]);
  UniqueFd in(ends[1]);
  ASSERT_EQ(write(in.get(), "worker_num = 4\n", 15), 15);
  in.reset();
  const std::string path = absl::StrCat("/dev/fd/", out.get());
  EXPECT_EQ(ReadConfigFile(names_, path).values.size(), 1u);
  EXPECT_THAT(ReadConfigFile(names_, path).errors, ElementsAre(HasSubstr("another one has read it")));
}

TEST_F(ConfigFileTest, AnythingBeyondTheLimitIsNoConfigFile) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/config_file_test.", getpid());
  std::ofstream(path) << std::string(1024 * 1024 + 1, '\n');
  EXPECT_THAT(ReadConfigFile(names_, path).errors, ElementsAre(HasSubstr("is larger than the 1048576 bytes")));
  std::ofstream(path) << "worker_num = 4\n";
  const ConfigFile config = ReadConfigFile(names_, path);
  EXPECT_THAT(config.errors, IsEmpty());
  ASSERT_EQ(config.values.size(), 1u);
  EXPECT_EQ(config.values[0].source, absl::StrCat(path, ":1"));
  std::remove(path.c_str());
}

}  // namespace
}  // namespace muster
