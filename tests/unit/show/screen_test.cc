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

TEST(Screen, CutsLinesThatWouldWrap) {
  Screen screen(true);
  EXPECT_EQ(screen.Update("", "abcdef\nköln!\n", 4), "abcd\nköln\n");
  EXPECT_EQ(screen.Update("", "abcdef\n", 0), "\x1b[2A\r\x1b[Jabcdef\n");
}

}  // namespace
}  // namespace muster
