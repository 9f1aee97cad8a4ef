#include "common/text.h"

#include <gtest/gtest.h>

#include <string>

namespace muster {
namespace {

TEST(EscapeControl, EscapesWhatSteersAndKeepsWhatReads) {
  const struct {
    std::string text, escaped;
  } cases[] = {
      {"plain – ü 漢 😀", "plain – ü 漢 😀"},
      {"a\nb\tc\rd", "a\\nb\\tc\\rd"},
      {"\x1b[31m\x7f", "\\x1b[31m\\x7f"},
      {std::string("\0x", 2), "\\x00x"},
      {"\xC2\x9B", "\\x9b"},                // C1 control sequence introducer
      {"\xC2\xA0", "\xC2\xA0"},             // the first one that is none
      {"\xff\xC3", "\\xff\\xc3"},           // no UTF-8, and cut short
      {"\xC0\xAF", "\\xc0\\xaf"},           // overlong
      {"\xED\xA0\x80", "\\xed\\xa0\\x80"},  // surrogate
      {"\xF4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
      {"back\\slash", "back\\slash"},
      {"", ""},
  };
  for (const auto& c : cases) EXPECT_EQ(EscapeControl(c.text), c.escaped);
}

TEST(Quoted, CutsBetweenCharacters) {
  EXPECT_EQ(Quoted("abc", 3), "\"abc\"");
  EXPECT_EQ(Quoted("abcd", 3), "\"abc…\"");
  EXPECT_EQ(Quoted("abü", 3), "\"ab…\"");
}

}  // namespace
}  // namespace muster
