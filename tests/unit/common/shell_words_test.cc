#include "common/command/shell_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_join.h"

namespace muster {
namespace {

// The commands' words with "|" between them, the commands with "; ".
std::string Read(const std::string& text) {
  std::vector<std::string> commands;
  for (const ShellCommand& each : ShellCommands(text)) {
    EXPECT_EQ(each.words.size(), each.typed.size()) << text;
    EXPECT_LE(each.begin, each.end) << text;
    EXPECT_LE(each.end, text.size()) << text;
    commands.push_back(absl::StrJoin(each.words, "|"));
  }
  return absl::StrJoin(commands, "; ");
}

TEST(ShellWords, CommandsOfAText) {
  const struct {
    std::string text, commands;
  } cases[] = {
      {"a b  c", "a|b|c"},
      {"a 'b c' \"d e\" f\\ g h'i'\"j\"", "a|b c|d e|f g|hij"},
      {"a \"b\\\"c\" ''", "a|b\"c|"},
      {"a # b\nc#d", "a; c#d"},
      {"a; b && c || d | e & f\ng", "a; b; c; d; e; f; g"},
      {"a \\\n  b\\\nc", "a|bc"},
      {"a > x 2>&1 < y &> z >> w b", "a|b"},
      {"a 2 > x", "a|2"},
      {"a <<END b\nc\nEND\nd", "a|b; d"},
      {"a <<-'END'\n\tc\n\tEND\nd <<< e", "a; d"},
      {"if a; then b; else c; fi; while ! d; do { e; }; done", "a; b; c; d; e"},
      {"for x in a b; do c; done", "c"},
      {"f() { a; }\nfunction g { b; }\n(c; d)", "a; c; d"},
      {"case $1 in\n  a|b) c;;\n  *) d;;\nesac", "a; c; d"},
      {"a $(b; c 'd)') `e f` ${g:-h i} $((1 + 2)) \"$(j \"k\")\"",
       "a|$(b; c 'd)')|`e f`|${g:-h i}|$((1 + 2))|$(j \"k\")"},
      {"A=1 B='2 3' c D=4", "c|D=4"},
      {"X=(a b)\nc", "; c"},
      {"a <(b c) d", "a|<(b c)|d"},
      {"", ""},
      {"'", ""},
      {"a \"b", "a|b"},
      {"a $(b", "a|$(b"},
      {")", ""},
  };
  for (const auto& c : cases) EXPECT_EQ(Read(c.text), c.commands) << c.text;
}

TEST(ShellWords, WhereACommandStands) {
  const std::string text = "x\nA=1 b 'c' > d; e | f";
  const std::vector<ShellCommand> commands = ShellCommands(text);
  ASSERT_EQ(commands.size(), 4);
  EXPECT_EQ(text.substr(commands[1].begin, commands[1].end - commands[1].begin), "A=1 b 'c'");
  EXPECT_EQ(commands[1].line, 2);
  EXPECT_THAT(commands[1].assignments, testing::ElementsAre("A=1"));
  EXPECT_THAT(commands[1].typed, testing::ElementsAre("b", "'c'"));
  EXPECT_FALSE(commands[2].has_input);
  EXPECT_TRUE(commands[3].has_input);
  EXPECT_TRUE(ShellCommands("a < b")[0].has_input);
  for (const std::string text :
       {"a 'b\nc' d\ne", "a \"b\\\nc\"\ne", "a \\\n b\ne", "a $(b \\\n c)\ne", "a \"b\nc\"\ne"}) {
    EXPECT_EQ(ShellCommands(text)[1].line, 3) << text;
  }
}

TEST(ShellWords, ManyCommandsAndDeepNestingAreBounded) {
  std::string many;
  for (int i = 0; i < 5000; ++i) many += "a;";
  EXPECT_EQ(ShellCommands(many).size(), 1024);
  EXPECT_LE(ShellCommands(std::string(size_t{64} << 10, '(')).size(), 1024);
  std::string nested;
  for (int i = 0; i < 5000; ++i) nested += "$(";
  EXPECT_LE(ShellCommands(nested).size(), 1);
  for (const char c : std::string("'\"`\\#<>|&$")) EXPECT_LE(ShellCommands(std::string(5000, c)).size(), 1024) << c;
}

TEST(ShellWords, AWordIsQuotedForAShell) {
  for (const std::string word : {"a", "", "a b", "it's", "$x", "a=b,c", "#"}) {
    const std::vector<ShellCommand> read = ShellCommands("x " + ShellWord(word));
    ASSERT_EQ(read.size(), 1);
    EXPECT_THAT(read[0].words, testing::ElementsAre("x", word));
  }
}

}  // namespace
}  // namespace muster
