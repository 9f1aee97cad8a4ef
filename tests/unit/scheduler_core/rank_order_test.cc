#include "scheduler/core/places/rank_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "absl/strings/str_cat.h"
#include "tests/unit/scheduler_core/run_builder.h"

namespace muster::scheduler {
namespace {

unsigned Pick(std::mt19937& random, unsigned count) { return static_cast<unsigned>(random() % count); }

using Ranks = std::vector<std::vector<uint32_t>>;

struct Nodes {
  std::vector<std::string> ids;
  std::vector<v1::NodeInfo> infos;

  v1::NodeInfo& Add(const NodeSpec& spec) {
    ids.push_back(spec.id);
    infos.push_back(InfoOf(spec));
    return infos.back();
  }
  Ranks Assign(bool forces_address_order = false, bool ids_are_ranks = true) const {
    std::vector<OrderedNode> ordered;
    for (size_t i = 0; i < ids.size(); ++i) ordered.push_back({ids[i], &infos[i]});
    return AssignRanks(ordered, forces_address_order, ids_are_ranks);
  }
};

TEST(AssignRanks, NumbersAreRanks) {
  Nodes nodes;
  nodes.Add({.id = "2"});
  nodes.Add({.id = "0"});
  nodes.Add({.id = "01"});
  EXPECT_EQ(nodes.Assign(), (Ranks{{2}, {0}, {1}}));
}

TEST(AssignRanks, NumbersAreAnOrderWithSeveralSlotsOrRoles) {
  Nodes nodes;
  nodes.Add({.id = "90", .slots = 2});
  nodes.Add({.id = "9", .slots = 1});
  EXPECT_EQ(nodes.Assign(), (Ranks{{1, 2}, {0}}));
  Nodes single;
  single.Add({.id = "90"});
  single.Add({.id = "9"});
  EXPECT_EQ(single.Assign(false, false), (Ranks{{1}, {0}}));
}

TEST(AssignRanks, NumbersThatAreNoPermutationStillGiveOne) {
  Nodes nodes;
  nodes.Add({.id = "7"});
  nodes.Add({.id = "1"});
  nodes.Add({.id = "01"});
  EXPECT_EQ(nodes.Assign(), (Ranks{{2}, {0}, {1}}));
}

TEST(AssignRanks, AddressesAreNumbersAndV4ComesFirst) {
  Nodes nodes;
  nodes.Add({.id = "a", .address = "fe80::1"});
  nodes.Add({.id = "b", .address = "10.0.0.10"});
  nodes.Add({.id = "c", .address = "10.0.0.9"});
  nodes.Add({.id = "n10", .address = "10.0.0.8"});
  nodes.Add({.id = "n9", .address = "10.0.0.8"});
  nodes.Add({.id = "z", .address = ""});
  EXPECT_EQ(nodes.Assign(), (Ranks{{4}, {3}, {2}, {1}, {0}, {5}}));
}

TEST(AssignRanks, ForcedAddressOrderBeatsAllButTheTable) {
  Nodes nodes;
  nodes.Add({.id = "0", .address = "10.0.0.2"}).set_node_rank(0);
  nodes.Add({.id = "1", .address = "10.0.0.1"}).set_node_rank(1);
  EXPECT_EQ(nodes.Assign(true), (Ranks{{1}, {0}}));
  for (uint32_t i = 0; i < 2; ++i) nodes.infos[i].add_table_ranks(i);
  EXPECT_EQ(nodes.Assign(true), (Ranks{{0}, {1}}));
}

TEST(AssignRanks, LabelsKeepRacksTogether) {
  Nodes nodes;
  nodes.Add({.id = "a", .address = "10.0.0.1"}).set_label_path("rack=10");
  nodes.Add({.id = "b", .address = "10.0.0.2"}).set_label_path("rack=9");
  nodes.Add({.id = "c", .address = "10.0.0.3"}).set_label_path("rack=10");
  EXPECT_EQ(nodes.Assign(), (Ranks{{1}, {0}, {2}}));
}

TEST(AssignRanks, NodeRanksCountIfAllHaveOne) {
  Nodes nodes;
  nodes.Add({.id = "a", .slots = 2}).set_node_rank(5);
  nodes.Add({.id = "b"}).set_node_rank(2);
  EXPECT_EQ(nodes.Assign(), (Ranks{{1, 2}, {0}}));
  nodes.Add({.id = "c"});
  EXPECT_EQ(nodes.Assign(), (Ranks{{0, 1}, {2}, {3}}));
}

TEST(AssignRanks, MasterAddressNamesTheFirstMachine) {
  Nodes nodes;
  nodes.Add({.id = "a", .machine = "m1", .address = "10.0.0.1"}).set_wanted_master_address("10.0.0.2");
  nodes.Add({.id = "b", .machine = "m2", .address = "10.0.0.2"});
  nodes.Add({.id = "c", .machine = "m2", .address = "10.0.0.3"});
  EXPECT_EQ(nodes.Assign(), (Ranks{{2}, {0}, {1}}));
}

TEST(AssignRanks, AnUnknownMasterAddressChangesNothing) {
  Nodes nodes;
  nodes.Add({.id = "a"}).set_wanted_master_address("192.168.0.1");
  nodes.Add({.id = "b"});
  EXPECT_EQ(nodes.Assign(), (Ranks{{0}, {1}}));
}

TEST(AssignRanks, ATableThatFitsNoNodeIsPassedOver) {
  const std::vector<std::vector<std::vector<uint32_t>>> tables = {
      {{0}, {0}},        // the same rank twice
      {{5}, {6}},        // out of range
      {{0, 3}, {0, 3}},  // gaps
      {{0}, {1, 2}},     // too few for the two slots of the first
  };
  for (const auto& table : tables) {
    Nodes nodes;
    for (size_t i = 0; i < table.size(); ++i) {
      v1::NodeInfo& info =
          nodes.Add({.id = absl::StrCat("n", i), .slots = table == tables[3] ? 2 - static_cast<int>(i) : 1});
      for (const uint32_t rank : table[i]) info.add_table_ranks(rank);
    }
    const Ranks ranks = nodes.Assign();
    EXPECT_EQ(ranks[0][0], 0u);
    EXPECT_EQ(ranks[1].back(), table == tables[3] ? 2u : 1u);
  }
}

TEST(AssignRanks, SparesTakeWhatRegularNodesLeave) {
  Nodes nodes;
  nodes.Add({.id = "0"});
  nodes.Add({.id = "3"});
  nodes.Add({.id = "2"}).set_spare(true);
  nodes.Add({.id = "spare-x"}).set_spare(true);
  EXPECT_EQ(nodes.Assign(), (Ranks{{0}, {3}, {2}, {1}}));
}

TEST(AssignRanks, SparesAloneAreRegular) {
  Nodes nodes;
  nodes.Add({.id = "1"}).set_spare(true);
  nodes.Add({.id = "0"}).set_spare(true);
  EXPECT_EQ(nodes.Assign(), (Ranks{{1}, {0}}));
}

TEST(AssignRanks, NoNodeAtAll) { EXPECT_TRUE(Nodes().Assign().empty()); }

// Nodes of all sorts, including some that admission would refuse.
Nodes RandomNodes(std::mt19937& random) {
  const auto chance = [&](unsigned percent) { return Pick(random, 100) < percent; };
  const bool are_numbers = chance(40);
  const bool are_single = chance(50);
  const unsigned node_ranks = chance(30) ? 100 : Pick(random, 60);
  const unsigned tables = chance(30) ? 100 : Pick(random, 30);
  Nodes nodes;
  const size_t count = 1 + Pick(random, 12);
  while (nodes.ids.size() < count) {
    std::string id =
        are_numbers ? absl::StrCat(chance(10) ? "0" : "", Pick(random, 16)) : absl::StrCat("n", Pick(random, 40));
    if (std::find(nodes.ids.begin(), nodes.ids.end(), id) != nodes.ids.end()) continue;
    v1::NodeInfo& info = nodes.Add({.id = id,
                                    .slots = are_single ? 1 : 1 + static_cast<int>(Pick(random, 4)),
                                    .machine = absl::StrCat("m", Pick(random, 5)),
                                    .address = chance(5) ? "" : absl::StrCat("10.0.0.", Pick(random, 6))});
    if (chance(node_ranks)) info.set_node_rank(Pick(random, 4));
    for (unsigned i = 0; chance(tables) && i < 4; ++i) info.add_table_ranks(Pick(random, 12));
    if (chance(20)) info.set_label_path(absl::StrCat("rack=", Pick(random, 3)));
    if (chance(20)) info.set_wanted_master_address(absl::StrCat("10.0.0.", Pick(random, 8)));
    info.set_spare(chance(15));
  }
  return nodes;
}

TEST(AssignRanks, IsAPermutationAndIndependentOfTheOrderOfArrival) {
  for (unsigned seed = 1; seed <= 3000; ++seed) {
    std::mt19937 random(seed);
    const Nodes nodes = RandomNodes(random);
    const bool forces = Pick(random, 4) == 0;
    const bool ids_are_ranks = Pick(random, 4) != 0;
    const Ranks ranks = nodes.Assign(forces, ids_are_ranks);
    std::vector<uint32_t> all;
    for (size_t i = 0; i < ranks.size(); ++i) {
      ASSERT_EQ(static_cast<int>(ranks[i].size()), nodes.infos[i].slots_size()) << "seed " << seed;
      all.insert(all.end(), ranks[i].begin(), ranks[i].end());
    }
    std::sort(all.begin(), all.end());
    for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], i) << "seed " << seed;

    std::vector<size_t> arrival(nodes.ids.size());
    std::iota(arrival.begin(), arrival.end(), size_t{0});
    std::shuffle(arrival.begin(), arrival.end(), random);
    Nodes shuffled;
    for (const size_t i : arrival) {
      shuffled.ids.push_back(nodes.ids[i]);
      shuffled.infos.push_back(nodes.infos[i]);
    }
    const Ranks again = shuffled.Assign(forces, ids_are_ranks);
    for (size_t i = 0; i < arrival.size(); ++i) {
      ASSERT_EQ(again[i], ranks[arrival[i]]) << "seed " << seed << " node " << shuffled.ids[i];
    }
  }
}

}  // namespace
}  // namespace muster::scheduler
