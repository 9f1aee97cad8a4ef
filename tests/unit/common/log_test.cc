#include "common/sys/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/unit/common/manual_clock.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class LogTest : public ::testing::Test {
 protected:
  void Init(const std::string& format, const std::string& level = "debug") {
    ASSERT_TRUE(InitLogging({"ms-scheduler", format, level, path_}).ok());
  }
  void TearDown() override {
    ASSERT_TRUE(InitLogging({"test", "text", "info", ""}).ok());
    std::remove(path_.c_str());
  }
  std::vector<std::string> Lines() const {
    std::ifstream file(path_);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  // The text after "ms-scheduler: " in each line.
  std::vector<std::string> Texts() const {
    std::vector<std::string> texts;
    for (const std::string& line : Lines()) texts.push_back(line.substr(line.find(": ") + 2));
    return texts;
  }

  const std::string path_ = absl::StrCat(::testing::TempDir(), "/log_test.", getpid(), ".log");
};

TEST_F(LogTest, TextLinesHaveTimeLevelAndProgram) {
  Init("text");
  Log(Severity::kWarning, "it is {so}");
  EXPECT_THAT(Lines(), ElementsAre(MatchesRegex(
                           "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\\.[0-9]{3} WARNING ms-scheduler: it is \\{so\\}")));
}

TEST_F(LogTest, PeersCantForgeLines) {
  Init("text");
  Log(Severity::kInfo, "name is \"a\n2026-01-01 INFO all is well\x1b[2J\"");
  EXPECT_THAT(Texts(), ElementsAre("name is \"a\\n2026-01-01 INFO all is well\\x1b[2J\""));
}

TEST_F(LogTest, JsonLinesAreValidJson) {
  Init("json");
  Log(Severity::kError, "bad \"name\"\n\x01 \xff", {{"node", "n\"1"}, {"message", "not this"}});
  const auto lines = Lines();
  ASSERT_EQ(lines.size(), 1u);
  const auto line = nlohmann::json::parse(lines[0], nullptr, false);
  ASSERT_TRUE(line.is_object()) << lines[0];
  EXPECT_EQ(line["level"], "ERROR");
  EXPECT_EQ(line["program"], "ms-scheduler");
  EXPECT_EQ(line["node"], "n\"1");
  EXPECT_EQ(line["message"], "bad \"name\"\n\x01 \xEF\xBF\xBD");  // a byte that was not UTF-8 is replaced
  EXPECT_THAT(line["time"].get<std::string>(), MatchesRegex(".*T.*\\.[0-9]{3}Z"));
}

TEST_F(LogTest, LevelsBelowTheSettingAreLeftOut) {
  Init("text", "warning");
  Log(Severity::kInfo, "unseen");
  Log(Severity::kError, "seen");
  EXPECT_THAT(Texts(), ElementsAre("seen"));
}

TEST_F(LogTest, BadOptionsAreNamed) {
  EXPECT_THAT(InitLogging({"p", "xml", "info", ""}).message(), HasSubstr("log_format is \"xml\""));
  EXPECT_THAT(InitLogging({"p", "text", "loud", ""}).message(), HasSubstr("log_level is \"loud\""));
  EXPECT_THAT(InitLogging({"p", "text", "info", "/proc"}).message(), HasSubstr("--log_file"));
}

TEST_F(LogTest, MakesNoFolders) {
  const std::string folder = path_ + ".d";
  EXPECT_EQ(InitLogging({"p", "text", "info", folder + "/scheduler.log"}).message(),
            "log_file: the folder of \"" + folder +
                "/scheduler.log\" is not there: correct --log_file, or make it with "
                "mkdir -p " +
                folder);
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST_F(LogTest, AFloodBecomesOneLineAWindow) {
  Init("text");
  ManualClock clock;
  CountedLog log(clock, absl::Seconds(10));
  for (int i = 0; i < 5; ++i) log.Note(Severity::kWarning, "garbage", absl::StrCat("garbage from peer ", i));
  clock.Advance(absl::Seconds(9));
  log.Note(Severity::kWarning, "garbage", "garbage from peer 5");
  EXPECT_THAT(Texts(), ElementsAre("garbage from peer 0"));
  clock.Advance(absl::Seconds(1));
  log.Note(Severity::kWarning, "garbage", "garbage from peer 6");
  EXPECT_THAT(Texts(), ElementsAre("garbage from peer 0", "garbage from peer 6 (and 5 more like it)"));
  log.Note(Severity::kWarning, "garbage", "garbage from peer 7");
  log.Note(Severity::kWarning, "garbage", "garbage from peer 8");
  log.Flush();
  log.Flush();
  EXPECT_EQ(Texts().size(), 3u);
  EXPECT_EQ(Texts().back(), "garbage from peer 8 (and 1 more like it)");
  EXPECT_EQ(log.Counts(), (std::map<std::string, uint64_t>{{"garbage", 9}}));
}

TEST_F(LogTest, KindsAreBounded) {
  Init("text");
  ManualClock clock;
  CountedLog log(clock);
  for (int i = 0; i < 500; ++i) log.Note(Severity::kInfo, absl::StrCat("kind", i), "x");
  const auto counts = log.Counts();
  EXPECT_EQ(counts.size(), 128u);
  EXPECT_EQ(counts.at("other"), 500u - 127u);
}

}  // namespace
}  // namespace muster
