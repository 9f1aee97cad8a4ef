#include "scheduler/core/views/job_map.h"

#include <gtest/gtest.h>

#include "tests/unit/scheduler_core/run_builder.h"

namespace muster::scheduler {
namespace {

void SetSlot(Node& node, size_t slot, SlotState::Phase phase, uint32_t rank) {
  Edit(node).slots[slot].phase = phase;
  Edit(node).slots[slot].rank = rank;
}

TEST(MapOf, HasACharacterForEachNodeAndSlot) {
  auto run = RunOf(12);
  Edit(run).round = 3;
  AddNode(run, {"a", 6});
  using Phase = SlotState::Phase;
  const Phase phases[] = {Phase::kIdle, Phase::kAssigned, Phase::kRunning,
                          Phase::kDone, Phase::kFailed,   Phase::kStopped};
  for (size_t i = 0; i < 6; ++i) SetSlot(NodesOf(run)["a"], i, phases[i], static_cast<uint32_t>(i));
  AddNode(run, {"b", 1}).stream = 0;
  Edit(AddNode(run, {"c", 1})).draining_reason = "hot";
  AddNode(run, {"d", 1}).is_settled = true;
  Edit(AddNode(run, {"e", 1})).is_lost = true;
  AddSpare(run, {"f", 1});
  Edit(AddSpare(run, {"g", 1})).draining_reason = "hot";
  AddSpare(run, {"h", 1}).stream = 0;
  const auto map = MapOf(run, /*with_names=*/true);
  EXPECT_EQ(map->job_id, "default");
  EXPECT_EQ(map->run, 1u);
  EXPECT_EQ(map->round, 3u);
  EXPECT_EQ(map->nodes, "cdgelppd") << "of an id lost goes before settled, that before away, that before spare";
  EXPECT_EQ(map->slots, "-ardfs-------");
  ASSERT_EQ(map->names.size(), map->nodes.size());
  EXPECT_TRUE(MapOf(run, false)->names.empty());
  EXPECT_EQ(MapOf(run, false)->names_version, map->names_version);
}

TEST(MapOf, NamesRanksAsRangesInTheOrderOfSlots) {
  auto run = RunOf(4);
  Node& node = AddNode(run, {"a", 5, "gpu1"});
  Edit(node).info.set_label_path("zone/rack7");
  const uint32_t ranks[] = {4, 5, 9, 0, 1};
  for (size_t i = 0; i < 5; ++i) SetSlot(node, i, SlotState::Phase::kRunning, ranks[i]);
  AddNode(run, {.id = "s", .role = v1::ROLE_SERVER});
  const auto map = MapOf(run, true);
  const JobMap::Name& name = map->names[0];
  EXPECT_EQ(name.node_id, "a");
  EXPECT_EQ(name.host_name, "gpu1");
  EXPECT_EQ(name.label_path, "zone/rack7");
  EXPECT_EQ(name.slots, 5u);
  EXPECT_FALSE(name.is_server);
  EXPECT_EQ(name.ranks, (std::vector<std::pair<uint32_t, uint32_t>>{{4, 2}, {9, 1}, {0, 2}}));
  EXPECT_TRUE(map->names[1].is_server);
  EXPECT_TRUE(map->names[1].ranks.empty()) << "its slot is idle";
}

TEST(MapOf, HasAnotherVersionExactlyForOtherNames) {
  const auto version = [](auto change) {
    auto run = RunOf(2);
    SetSlot(AddNode(run, {"a", 1}), 0, SlotState::Phase::kAssigned, 0);
    SetSlot(AddNode(run, {"b", 1}), 0, SlotState::Phase::kAssigned, 1);
    change(run);
    return MapOf(run, false)->names_version;
  };
  const uint64_t before = version([](auto&) {});
  EXPECT_EQ(version([](auto& run) { SetSlot(NodesOf(run)["a"], 0, SlotState::Phase::kFailed, 0); }), before);
  EXPECT_EQ(version([](auto& run) { NodesOf(run)["b"].stream = 0; }), before);
  EXPECT_NE(version([](auto& run) { AddNode(run, {"c", 1}); }), before);
  EXPECT_NE(version([](auto& run) { Edit(NodesOf(run)["a"]).info.set_host_name("other"); }), before);
  EXPECT_NE(version([](auto& run) { SetSlot(NodesOf(run)["a"], 0, SlotState::Phase::kRunning, 7); }), before);
  EXPECT_NE(version([](auto& run) { SetSlot(NodesOf(run)["a"], 0, SlotState::Phase::kIdle, 0); }), before);
}

}  // namespace
}  // namespace muster::scheduler
