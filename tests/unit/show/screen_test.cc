#include "common/show/screen.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Screen, WithoutATerminalOnlyNewsAndNoEscapes) {
  Screen screen(false);
  EXPECT_EQ(screen.Update("joined\n", "block\n", 80), "joined\n");
  EXPECT_EQ(screen.Update("", "other block\n", 80), "");
}

TEST(Screen, RedrawsTheBlockInPlace) {
  Screen screen(true);
  EXPECT_EQ(screen.Update("", "one\ntwo\n", 80), "one\ntwo\n");
  EXPECT_EQ(screen.Update("", "three\n", 80), "\x1b[2A\r\x1b[Jthree\n");
  EXPECT_EQ(screen.Update("", "four\n", 80), "\x1b[1A\r\x1b[Jfour\n");
}

TEST(Screen, WritesNothingWhenNothingChanged) {
  Screen screen(true);
  screen.Update("", "one\n", 80);
  EXPECT_EQ(screen.Update("", "one\n", 80), "");
}

TEST(Screen, NewsScrollsUpAboveTheBlock) {
  Screen screen(true);
  screen.Update("", "block\n", 80);
  EXPECT_EQ(screen.Update("joined\n", "block\n", 80), "\x1b[1A\r\x1b[Jjoined\nblock\n");
}

TEST(Screen, WrapsLinesAndRedrawsAllOfThem) {
  Screen screen(true);
  EXPECT_EQ(screen.Update("", "abcdef\nköln!\n", 4), "abcd\n  ef\nköln\n  !\n");
  EXPECT_EQ(screen.Update("", "abcdef\n", 0), "\x1b[4A\r\x1b[Jabcdef\n");
}

TEST(WrapLines, BreaksAtSpacesAndIndentsToTheValue) {
  EXPECT_EQ(WrapLines("  cause       rank 3 on node2 was killed\n", 28),
            "  cause       rank 3 on\n              node2 was\n              killed\n");
  EXPECT_EQ(WrapLines("one two three\n", 7), "one two\n  three\n");
  EXPECT_EQ(WrapLines("short", 80), "short\n");
  EXPECT_EQ(WrapLines("", 80), "");
  for (size_t width = 1; width < 20; ++width) {
    const std::string wrapped = WrapLines("  a word that-is-longer-than-the-line", width);
    EXPECT_NE(wrapped.find_last_of("e"), std::string::npos) << "the end is still there at width " << width;
  }
}

}  // namespace
}  // namespace muster
