#include "common/show/table.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Table, LinesUpAndTrims) {
  Table table({{"NODE"}, {"SLOTS", Align::kRight}, {"NOTE"}});
  table.AddRow({"a", "8", "x"});
  table.AddRow({"a-long-name", "128", ""});
  EXPECT_EQ(table.Print(),
            "NODE         SLOTS  NOTE\n"
            "a                8  x\n"
            "a-long-name    128  -\n");
}

TEST(Table, OnlyTitlesWithoutRows) {
  Table table({{"A"}, {"B"}});
  EXPECT_EQ(table.rows(), 0u);
  EXPECT_EQ(table.Print(), "A  B\n");
}

TEST(Table, CountsCodePointsNotBytes) {
  Table table({{"HOST"}, {"X"}});
  table.AddRow({"köln", "1"});
  table.AddRow({"bonn", "2"});
  EXPECT_EQ(table.Print(),
            "HOST  X\n"
            "köln  1\n"
            "bonn  2\n");
}

TEST(Table, ShowsControlCharactersHarmless) {
  Table table({{"HOST"}, {"X"}});
  table.AddRow({"a\x1b[2Jb", "1\n2"});
  const std::string printed = table.Print();
  EXPECT_EQ(printed.find('\x1b'), std::string::npos);
  EXPECT_EQ(std::count(printed.begin(), printed.end(), '\n'), 2) << printed;
}

TEST(TableDeathTest, ARowThatDoesNotFitIsABug) {
  Table table({{"A"}, {"B"}});
  EXPECT_DEATH(table.AddRow({"1"}), "broken invariant");
}

}  // namespace
}  // namespace muster
