#include "worker_agent/gateway/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace muster::agent {
namespace {

using ::testing::ElementsAre;

// /bin/true as the command needs no MPI and names no Python module.
AgentSettings Settings() {
  AgentSettings settings;
  settings.command = {"/bin/true"};
  return settings;
}

std::vector<std::string> Served(const AgentSettings& settings) {
  const ServedGateways served(settings, {{"PATH", "/usr/bin:/bin"}});
  std::vector<std::string> names;
  for (const GatewayRow& row : GatewayRows()) {
    if (served.Has(row.name)) names.emplace_back(row.name);
  }
  return names;
}

TEST(GatewayRegistry, RowsNameSettingsAndTheirValues) {
  AgentSettings settings;
  const SettingsTable table = AgentSettingsTable(settings);
  std::set<std::string> names;
  for (const GatewayRow& row : GatewayRows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_NE(std::string(row.without), "") << row.name;
    EXPECT_GT(row.threads, 0u) << row.name;
    if (std::string(row.flag).empty()) continue;
    const Setting* found = nullptr;
    for (const Setting& setting : table.settings()) {
      if (setting.flag == row.flag) found = &setting;
    }
    ASSERT_NE(found, nullptr) << row.flag;
    EXPECT_EQ(found->value_name, row.values) << row.name;
  }
}

TEST(GatewayRegistry, WhatIsServedFollowsFromSettingsAndCommand) {
  EXPECT_THAT(Served(Settings()), ElementsAre("mindspore", "torch_store", "unserved_mpi", "script_store"));
  EXPECT_THAT(Served(AgentSettings()), ElementsAre("unserved_mpi", "script_store")) << "no command";
  AgentSettings settings = Settings();
  settings.mindspore_gateway = "off";
  settings.mpi = "none";
  EXPECT_THAT(Served(settings), ElementsAre("torch_store", "script_store"));
  settings.jax = "on";
  settings.horovod = "gloo";
  settings.lighthouse = "one";
  EXPECT_THAT(Served(settings), ElementsAre("torch_store", "horovod", "lighthouse", "jax", "script_store"));
  settings = Settings();
  settings.mpi = "pmi1";
  settings.allows_exec = true;
  EXPECT_THAT(Served(settings), ElementsAre("mindspore", "torch_store", "mpi", "script_store", "exec"));
  settings = Settings();
  settings.per_job = true;
  EXPECT_THAT(Served(settings), ElementsAre("mindspore", "torch_store", "script_store")) << "no process for each rank";
  settings = Settings();
  settings.horovod = "mpi";
  EXPECT_THAT(Served(settings), ElementsAre("mindspore", "torch_store", "mpi", "script_store")) << "of either family";
}

TEST(GatewayRegistry, WhatTheyTakeIsOfThoseThatAreServed) {
  AgentSettings settings = Settings();
  const ServedGateways few(settings, {});
  EXPECT_FALSE(few.need_all_peers()) << "MindSpore's does without them if no setting asks for it";
  settings.mindspore_gateway = "on";
  EXPECT_TRUE(ServedGateways(settings, {}).need_all_peers());
  settings.lighthouse = "one";
  const ServedGateways more(settings, {});
  EXPECT_EQ(more.threads(), few.threads() + 2);
  EXPECT_GT(more.slot_descriptors(), few.slot_descriptors());
}

}  // namespace
}  // namespace muster::agent
