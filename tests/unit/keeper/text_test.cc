#include "worker_agent/keeper/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "worker_agent/keeper/files/error_file.h"
#include "worker_agent/keeper/files/output.h"

namespace muster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(CleanText, LeavesOutControlCharactersButTabs) {
  EXPECT_EQ(CleanText("a\tb\x01\x7f\rc\n", 100), "a\tbc");
  EXPECT_EQ(CleanText("a\nb", 100, true), "a\nb");
  EXPECT_EQ(CleanText("a\xC2\x9B"
                      "31mb",
                      100),
            "a31mb");  // CSI as one character
}

TEST(CleanText, LeavesOutEscapeSequences) {
  EXPECT_EQ(CleanText("\x1b[31;1mred\x1b[0m", 100), "red");
  EXPECT_EQ(CleanText("\x1b]0;title\atext", 100), "text");
  EXPECT_EQ(CleanText("\x1b[", 100), "");
  EXPECT_EQ(CleanText("end\x1b", 100), "end");
}

TEST(CleanText, IsAlwaysUtf8) {
  EXPECT_EQ(CleanText("Grüße 模型", 100), "Grüße 模型");
  EXPECT_EQ(CleanText("\xff\xc3!", 100),
            "?"
            "?!");
  EXPECT_EQ(CleanText("\xc0\xaf", 100), "??");            // overlong
  EXPECT_EQ(CleanText("\xed\xa0\x80", 100), "???");       // surrogate
  EXPECT_EQ(CleanText("\xf4\x90\x80\x80", 100), "????");  // beyond U+10FFFF
  EXPECT_EQ(CleanText("\xe6\xa8", 100), "??");            // cut
}

TEST(CleanText, CutsBetweenCharacters) {
  EXPECT_EQ(CleanText("aüb", 2), "a");
  EXPECT_EQ(CleanText("aüb", 3), "aü");
  EXPECT_EQ(CleanText("abc", 0), "");
}

std::vector<std::string> Split(LineSplitter splitter, const std::vector<std::string>& chunks) {
  std::vector<std::string> lines;
  auto emit = [&](std::string&& line) { lines.push_back(line); };
  for (const std::string& chunk : chunks) splitter.Feed(chunk, emit);
  splitter.Finish(emit);
  return lines;
}

TEST(LineSplitter, Lines) {
  const LineSplitter splitter(100, LineSplitter::Overlong::kSplit);
  EXPECT_THAT(Split(splitter, {"a\nb", "c\n\nd"}), ElementsAre("a", "bc", "", "d"));
  EXPECT_THAT(Split(splitter, {"a\r\nb\r", "\nc"}), ElementsAre("a", "b", "c"));
  EXPECT_THAT(Split(splitter, {}), IsEmpty());
}

TEST(LineSplitter, OfAProgressBarTheLastStateRemains) {
  const LineSplitter splitter(100, LineSplitter::Overlong::kSplit);
  EXPECT_THAT(Split(splitter, {"10%\r20%\r", "100%\n"}), ElementsAre("100%"));
  EXPECT_THAT(Split(splitter, {"10%\r20%\r"}), ElementsAre("20%"));
}

TEST(LineSplitter, OverlongLines) {
  EXPECT_THAT(Split(LineSplitter(3, LineSplitter::Overlong::kTruncate), {"abcdef\ngh"}), ElementsAre("abc", "gh"));
  EXPECT_THAT(Split(LineSplitter(3, LineSplitter::Overlong::kSplit), {"ab", "cdefgh\ni"}),
              ElementsAre("abc", "def", "gh", "i"));
}

TEST(LastLines, KeepsTheLastOfBothStreams) {
  LastLines lines;
  for (int i = 0; i < 100; ++i) lines.Feed(i % 2, absl::StrCat("line ", i, "\n"));
  const std::vector<std::string> taken = lines.Take();
  ASSERT_EQ(taken.size(), kMaxLastLines);
  EXPECT_EQ(taken.front(), "line 80");
  EXPECT_EQ(taken.back(), "line 99");
}

TEST(LastLines, OneBigChunkGivesTheSameAsManySmallOnes) {
  std::string text;
  for (int i = 0; i < 500; ++i) absl::StrAppend(&text, "line ", i, i % 7 == 0 ? "\r\n" : "\n");
  text += "unfinished";
  LastLines at_once;
  LastLines bytewise;
  at_once.Feed(0, text);
  for (char c : text) bytewise.Feed(0, std::string(1, c));
  const std::vector<std::string> taken = at_once.Take();
  EXPECT_EQ(taken, bytewise.Take());
  ASSERT_EQ(taken.size(), kMaxLastLines);
  EXPECT_EQ(taken.back(), "unfinished");
  EXPECT_EQ(taken.front(), "line 481");
}

TEST(LastLines, AnUnfinishedLineOfAnEarlierChunkIsNotGluedToALaterOne) {
  LastLines lines;
  lines.Feed(0, "begun ");
  std::string many;
  for (int i = 0; i < 40; ++i) absl::StrAppend(&many, i, "\n");
  lines.Feed(0, many);
  EXPECT_EQ(lines.Take().front(), "20");
}

TEST(LastLines, LinesAreBoundedAndClean) {
  LastLines lines;
  lines.Feed(0, std::string(100'000, 'x') + "\n\x1b[31mred\x1b[0m\n");
  const std::vector<std::string> taken = lines.Take();
  EXPECT_EQ(taken[0], std::string(kMaxLastLineBytes, 'x'));
  EXPECT_EQ(taken[1], "red");
}

TEST(ErrorFile, BothForms) {
  EXPECT_EQ(ParseErrorFile(R"({"message": "plain"})"), "plain");
  EXPECT_EQ(ParseErrorFile(R"({"message": {"message": "RuntimeError: x\ny", "extraInfo":
      {"py_callstack": "Traceback", "message": "not this", "timestamp": "17"}}})"),
            "RuntimeError: x\ny");
}

TEST(ErrorFile, WhatIsOfNoUse) {
  for (const char* text : {"", "nonsense", "[]", "{}", "7", "null", R"({"message": 7})", R"({"message": {"a": "b"}})",
                           R"([{"message": "in a list"}])", R"("message")"}) {
    EXPECT_EQ(ParseErrorFile(text), "") << text;
  }
  EXPECT_EQ(ParseErrorFile(std::string(100'000, '[')), "");
  EXPECT_EQ(ReadErrorFile("/nonexistent/file"), "");
  EXPECT_EQ(ReadErrorFile("/dev/zero"), "");
}

TEST(ErrorFile, CutBehindTheMessageAndBounded) {
  EXPECT_EQ(ParseErrorFile(R"({"message": {"message": "kept", "extraInfo": {"py_callstack": "Trace)"), "kept");
  EXPECT_EQ(ParseErrorFile(R"({"message": ")" + std::string(60'000, 'e') + "\"}").size(), kMaxErrorMessageBytes);
}

}  // namespace
}  // namespace muster::agent
