#include "common/command/shell_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster {
namespace {

// The words of each command are separated by "|", the commands by "; ". Commands that only set variables are left out.
std::string Read(const std::string& text) {
  std::vector<std::string> commands;
  for (const ShellCommand& each : ShellCommands(text)) {
    EXPECT_EQ(each.words.size(), each.typed.size()) << text;
    EXPECT_LE(each.begin, each.end) << text;
    EXPECT_LE(each.end, text.size()) << text;
    EXPECT_EQ(each.assignments.size(), each.typed_assignments.size()) << text;
    if (!each.words.empty()) commands.push_back(absl::StrJoin(each.words, "|"));
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
      {"f() { a; }\nfunction g { b; }\nfunction h\n{\nb\n}\n(c; d)", "a; b; b; c; d"},
      {"case $1 in\n  a|b) c;;\n  *) d;;\nesac; e", "c; d; e"},
      {"case $1 in a) b;; (c) (d; e);; *) f; esac; g", "b; d; e; f; g"},
      {"a $(b; c 'd)') `e f` ${g:-h i} $((1 + 2)) \"$(j \"k\")\"",
       "a|$(b; c 'd)')|`e f`|${g:-h i}|$((1 + 2))|$(j \"k\")"},
      {"A=1 B='2 3' c D=4", "c|D=4"},
      {"X=(a b)\nc", "c"},
      {"X=(a # don't (\n b)\nc", "c"},
      {"declare -a X=(a 'b c')\nd", "declare|-a|X=a 'b c'; d"},
      {"a $(b # isn't )\n) c", "a|$(b # isn't )\n)|c"},
      {"a $(case $b in c) d;; esac) e", "a|$(case $b in c) d;; esac)|e"},
      {"a $(b <<E\nit's )\nE\n) c", "a|$(b <<E\nit's )\nE\n)|c"},
      {"a $((1 << 2)) $((b # 2)) c", "a|$((1 << 2))|$((b # 2))|c"},
      {"a \"$(b \"$(c \")\")\" d)\" \"${e:-it's}\" f", "a|$(b \"$(c \")\")\" d)|${e:-it's}|f"},
      {"a `b \\`c\\` d` $'e\\'f' g", "a|`b \\`c\\` d`|$'e\\'f'|g"},
      {"a <<END\n\tEND\nb\nEND\nc", "a; c"},
      {"a <<-END\r\nb\r\n\tEND\r\nc", "a; c"},
      {"((i=0)); for ((i=0; i<2; i++)); do a; done; ((b); c)", "a; b; c"},
      {"a &&\n b ||\n c |\n d", "a; b; c; d"},
      {"[[ -n $a && $b < c ]] && d", "$b|]]; d"},
      {"time (a; b)", "a; b"},
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

// Writes each command with a letter for each block around it: A for the block that begins first, then B, and so on. The
// letter of a function's block has an f before it.
std::string Blocks(const std::string& text) {
  std::vector<std::string> commands;
  std::vector<uint32_t> ids;
  for (const ShellCommand& each : ShellCommands(text)) {
    std::string blocks;
    for (const ShellBlock& block : each.blocks) {
      if (std::find(ids.begin(), ids.end(), block.id) == ids.end()) ids.push_back(block.id);
      const auto at = std::find(ids.begin(), ids.end(), block.id) - ids.begin();
      blocks += std::string(block.is_function ? "f" : "") + static_cast<char>('A' + at);
    }
    commands.push_back(absl::StrCat(absl::StrJoin(each.words, ""), blocks));
  }
  return absl::StrJoin(commands, " ");
}

TEST(ShellWords, BlocksAroundACommand) {
  const struct {
    std::string text, blocks;
  } cases[] = {
      {"a; b & c | d", "a b c d"},
      {"if a; then b; elif c; then d; else e; fi; f", "aA bB cC dD eE f"},
      {"while a; do b; done < c; d", "aA bA d"},
      {"for x in a b; do c; for y in d; do e; done; done\nf", "A cA AB eAB f"},
      {"case x in a) b; c;; d) e;; esac; f", "bA cA eB f"},
      {"a && b && c || d; e", "a bA cA dB e"},
      {"a && { b; c; }\nd", "a bAB cAB d"},
      {"(a; b); { c; }; d", "aA bA cB d"},
      {"f() { a; }; function g { b; }; h() (c); { d; }", "afA bfB cfC dD"},
      {"f()\n{\na\n}\nb", "afA b"},
      {"if a; then (b; fi; c", "aA bBC c"},  // not closed
      {"fi; done; } ; esac; a", "a"},
      {"'if' a; echo if; b", "ifa echoif b"},
  };
  for (const auto& c : cases) EXPECT_EQ(Blocks(c.text), c.blocks) << c.text;
  EXPECT_THAT(ShellCommands("for r in 0 1; do a; done")[0].sets, testing::ElementsAre("r"));
  EXPECT_THAT(ShellCommands("for ((i=0,k=1;i<=2;j+=k,++m)); do a; done")[0].sets,
              testing::ElementsAre("i", "k", "j", "m"));
  EXPECT_THAT(ShellCommands("((n++)); a")[0].sets, testing::ElementsAre("n"));
  EXPECT_EQ(Read("((n > 1 && n == m)); a"), "a");
  EXPECT_EQ(ShellCommands("((n > 1 && n == m)); a").size(), 1);
}

TEST(ShellWords, RedirectionsBeforeTheLastWord) {
  const std::vector<ShellCommand> commands = ShellCommands("a 2>&1 b > >(c d) < 'e f' g 1> h; i <<E j\nE\nk > l");
  ASSERT_EQ(commands.size(), 3);
  EXPECT_THAT(commands[0].words, testing::ElementsAre("a", "b", "g"));
  EXPECT_THAT(commands[0].redirections, testing::ElementsAre("2>&1", "> >(c d)", "< 'e f'"));
  EXPECT_THAT(commands[1].redirections, testing::ElementsAre("<<E"));
  EXPECT_THAT(commands[2].redirections, testing::IsEmpty());
}

TEST(ShellWords, WhatHasInput) {
  const struct {
    std::string text, with;
  } cases[] = {
      {"a < b; c", "a"},
      {"a | b |\n c; d", "b c"},
      {"a |& b", "b"},
      {"{ a; b; } < f; c", "a b"},
      {"(a && b) < f; c", "a b"},
      {"while a; do b; done <<E\nE\nc", "a b"},
      {"a | while b; do c; done; d", "b c"},
      {"a | { b; (c); }; d", "b c"},
      {"(a); b < f", "b"},
      {"(a) > f; b", ""},
      {"a || b", ""},
  };
  for (const auto& c : cases) {
    std::vector<std::string> with;
    for (const ShellCommand& each : ShellCommands(c.text)) {
      if (each.has_input) with.push_back(each.words[0]);
    }
    EXPECT_EQ(absl::StrJoin(with, " "), c.with) << c.text;
  }
}

TEST(ShellWords, ManyCommandsAndDeepNestingAreBounded) {
  constexpr size_t kMany = size_t{64} << 10;
  const auto times = [](size_t count, const std::string& text) {
    std::string many;
    for (size_t i = 0; i < count; ++i) many += text;
    return many;
  };
  EXPECT_EQ(ShellCommands(times(5000, "a;")).size(), 1024);
  EXPECT_EQ(ShellCommands(times(60, "(") + "a").size(), 1);
  EXPECT_EQ(ShellCommands(times(80, "(") + "a").size(), 0);
  EXPECT_EQ(ShellCommands(times(80, "if ") + "a").size(), 0);
  EXPECT_EQ(ShellCommands("a; " + times(kMany, "(")).size(), 1);
  for (const std::string opening : {"$(", "${", "\"$(", "`$(", "((a) ", "$(case $(", "$(cat <<$(", "A=("}) {
    EXPECT_LT(ShellCommands(times(kMany / opening.size(), opening)).size(), 64) << opening;
  }
  const struct {
    char c;
    size_t commands;  // in a text of 5,000 such characters
  } cases[] = {{'\'', 1}, {'"', 1}, {'`', 1}, {'\\', 1}, {'$', 1}, {'#', 0}, {'<', 0}, {'>', 0},
               {'|', 0},  {'&', 0}, {'(', 0}, {')', 0},  {'{', 1}, {'}', 1}, {';', 0}};
  for (const auto& c : cases) EXPECT_EQ(ShellCommands(std::string(5000, c.c)).size(), c.commands) << c.c;
}

TEST(ShellWords, AWordIsQuotedForAShell) {
  for (const std::string word : {"a", "", "a b", "it's", "$x", "a=b,c", "#"}) {
    const std::vector<ShellCommand> read = ShellCommands("x " + ShellWord(word));
    ASSERT_EQ(read.size(), 1);
    EXPECT_THAT(read[0].words, testing::ElementsAre("x", word));
  }
  const struct {
    std::string word, quoted;
  } cases[] = {
      {"a", "a"},
      {"it's", "'it'\\''s'"},
      {"$x/bin", "\"$x/bin\""},
      {"$(dirname \"$0\")/\"l", "\"$(dirname \"$0\")/\\\"l\""},
      {"\\$(a \"b\")", "\"\\$(a \\\"b\\\")\""},
      {"`date`", "\"`date`\""},
      {"${A:-\"}\"}\\", "\"${A:-\"}\"}\\\\\""},
  };
  for (const auto& c : cases) EXPECT_EQ(ShellWordToExpand(c.word), c.quoted);
  EXPECT_EQ(FindOutsideExpansions("${A:-b}:$(c :):d", ':'), 7);
  EXPECT_EQ(FindOutsideExpansions("${A:-b}`:`", ':'), std::string_view::npos);
}

}  // namespace
}  // namespace muster
