#include "common/command/started.h"

#include <gtest/gtest.h>

#include "absl/strings/str_join.h"

namespace muster {
namespace {

using Words = std::vector<std::string>;

// Returns the programs that the command starts in the end, with their words, and with "<" if they get input.
std::string Last(const Words& command) {
  std::vector<std::string> last;
  for (const StartedProgram& each : ProgramsOf(command)) {
    if (each.is_last) last.push_back(absl::StrJoin(each.words, " ") + (each.has_input ? " <" : ""));
  }
  return absl::StrJoin(last, "; ");
}

TEST(Started, EnvSplitsItsText) {
  const struct {
    Words command;
    std::string last;
  } cases[] = {
      {{"env", "-S", "python -u", "train.py"}, "python -u train.py"},
      {{"env", "-Spython -u", "train.py"}, "python -u train.py"},
      {{"env", "-iS", "A=1 python -u", "train.py"}, "python -u train.py"},
      {{"env", "-i", "-u", "B", "--split-string=A=1 python", "a b.py"}, "python a b.py"},
      {{"env", "--split-string", "nice python", "-"}, "python -"},
      {{"env", "A=1", "python", "-S", "x"}, "python -S x"},
      {{"env", "-uS", "python"}, "python"},
      {{"env", "-u", "S", "python", "x.py"}, "python x.py"},
      {{"env", "-S"}, "env -S"},
  };
  for (const auto& c : cases) EXPECT_EQ(Last(c.command), c.last) << testing::PrintToString(c.command);
}

TEST(Started, WhatATextFeedsItsCommands) {
  EXPECT_EQ(Last({"bash", "-c", "{ python -; } < f"}), "python - <");
  EXPECT_EQ(Last({"bash", "-c", "(cd d && python -) < f"}), "cd d <; python - <");
  EXPECT_EQ(Last({"bash", "-c", "a |\n python -"}), "a; python - <");
  EXPECT_EQ(Last({"bash", "-c", "if a; then python -; fi < f; python -"}), "a <; python - <; python -");
  EXPECT_EQ(Last({"bash", "-c", "for i in 1 2; do python -; done"}), "python -");
}

}  // namespace
}  // namespace muster
