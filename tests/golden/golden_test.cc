// Each script below scripts/ is a test and its own golden file: commands, and below each the whole reaction of the
// core. MUSTER_GOLDEN_UPDATE=1 writes the reactions again; read the difference before you commit it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/golden/player.h"

namespace muster::golden {
namespace {

constexpr char kIndent[] = "  ";

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

bool IsReaction(const std::string& line) { return line.rfind(kIndent, 0) == 0; }

// Returns the script with the reactions that the core has now. `problems` gets broken invariants and mistakes in the
// script.
std::string Play(const std::string& script, std::vector<std::string>& problems) {
  std::string played;
  Player player;
  std::vector<std::string> lines = absl::StrSplit(script, '\n');
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  for (size_t i = 0; i < lines.size(); ++i) {
    if (IsReaction(lines[i])) continue;
    absl::StrAppend(&played, lines[i], "\n");
    if (lines[i].empty() || lines[i][0] == '#') continue;
    std::string error;
    const Command command = Command::Parse(lines[i], error);
    if (!error.empty()) problems.push_back(absl::StrCat("line ", i + 1, ": ", error));
    const size_t before = player.problems().size();
    for (const std::string& line : player.Do(command)) absl::StrAppend(&played, kIndent, line, "\n");
    for (size_t p = before; p < player.problems().size(); ++p) {
      problems.push_back(absl::StrCat("line ", i + 1, " (", lines[i], "): ", player.problems()[p]));
    }
  }
  return played;
}

class GoldenTest : public testing::Test {
 public:
  explicit GoldenTest(std::filesystem::path path) : path_(std::move(path)) {}

  void TestBody() override {
    const std::string script = ReadFile(path_);
    std::vector<std::string> problems;
    const std::string played = Play(script, problems);
    EXPECT_TRUE(problems.empty()) << path_ << ":\n" << absl::StrJoin(problems, "\n");
    std::vector<std::string> ignored;
    EXPECT_EQ(played, Play(script, ignored)) << "the same events had other effects the second time";
    if (std::getenv("MUSTER_GOLDEN_UPDATE") != nullptr) {
      std::ofstream(path_) << played;
      return;
    }
    EXPECT_EQ(script, played) << "if the new reaction is right: MUSTER_GOLDEN_UPDATE=1 "
                              << "bin/golden_test";
  }

 private:
  const std::filesystem::path path_;
};

// Plays every script, in any folder below.
const bool kAreRegistered = [] {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(MUSTER_GOLDEN_SCRIPTS)) {
    if (entry.path().extension() == ".txt") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) {
    testing::RegisterTest("Golden", path.stem().string().c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [path]() -> testing::Test* { return new GoldenTest(path); });
  }
  return true;
}();

TEST(GoldenScripts, AreFound) {
  size_t scripts = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(MUSTER_GOLDEN_SCRIPTS)) {
    scripts += entry.path().extension() == ".txt" ? 1 : 0;
  }
  EXPECT_GT(scripts, 30u) << "in " << MUSTER_GOLDEN_SCRIPTS;
  EXPECT_TRUE(kAreRegistered);
}

}  // namespace
}  // namespace muster::golden
