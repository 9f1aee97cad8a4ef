#include "scheduler/core/state/id_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "absl/strings/str_cat.h"

namespace muster::scheduler {
namespace {

std::string Walk(const IdTable<int>& table) {
  std::string text;
  for (const auto& [id, value] : table) absl::StrAppend(&text, id, "=", value, " ");
  return text;
}

TEST(IdTable, StandsInTheOrderOfIdsWhateverCameFirst) {
  IdTable<int> table;
  for (const char* id : {"c", "a", "d"}) table[id] = id[0];
  EXPECT_EQ(Walk(table), "a=97 c=99 d=100 ");
  table["b"] = 1;
  table["a"] = 2;  // exists already
  EXPECT_EQ(Walk(table), "a=2 b=1 c=99 d=100 ");
  EXPECT_EQ(table.size(), 4u);
}

TEST(IdTable, FindsWhatIsThere) {
  IdTable<int> table;
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(table.Find("a"), nullptr);
  table["a"] = 5;
  EXPECT_EQ(*table.Find("a"), 5);
  EXPECT_TRUE(table.contains("a"));
  table.at("a") = 6;
  EXPECT_EQ(Walk(table), "a=6 ");
}

TEST(IdTable, WhatStaysKeepsItsPlaceInMemory) {
  IdTable<int> table;
  int* const first = &table["m"];
  for (int i = 0; i < 1000; ++i) table[absl::StrCat(i)] = i;
  Walk(table);
  for (int i = 0; i < 1000; i += 2) table.Erase(absl::StrCat(i));
  EXPECT_EQ(table.Find("m"), first);
}

// Compares it with std::map, with iterations in between, so that entries leave both the sorted part and the newer one.
TEST(IdTable, IsAMapWhateverHappensToIt) {
  std::mt19937 random(7);
  IdTable<int> table;
  std::map<std::string, int> map;
  for (int step = 0; step < 20'000; ++step) {
    const std::string id = absl::StrCat(random() % 200);
    if (random() % 3 == 0 && map.contains(id)) {
      map.erase(id);
      table.Erase(id);
    } else {
      map[id] = step;
      table[id] = step;
    }
    if (random() % 16 != 0) continue;
    auto at = table.begin();
    for (const auto& [key, value] : map) {
      ASSERT_EQ(at->first, key);
      ASSERT_EQ(at->second, value);
      ++at;
    }
    ASSERT_TRUE(at == table.end());
    ASSERT_EQ(table.size(), map.size());
  }
}

TEST(IdTableDeathTest, WhatIsNotThereCannotBeErased) {
  IdTable<int> table;
  EXPECT_DEATH(table.Erase("a"), "is not there");
  EXPECT_DEATH(table.at("a"), "is not");
}

}  // namespace
}  // namespace muster::scheduler
