#include "scheduler/core_options.h"

#include <gtest/gtest.h>

namespace muster::scheduler {
namespace {

TEST(CoreOptions, OnlyWhatWasSetJudges) {
  const CoreOptions options = MakeCoreOptions(SchedulerSettings{}, {});
  EXPECT_FALSE(options.own.rules.has_worker_num());
  EXPECT_FALSE(options.own.rules.has_enable_recovery());
  EXPECT_FALSE(options.own.rules.has_topo_timeout_ms());
  EXPECT_EQ(options.topo_timeout, absl::Seconds(1800));
  EXPECT_EQ(options.lease, absl::Seconds(600));
  EXPECT_FALSE(options.is_once);
}

TEST(CoreOptions, CarriesEverySetting) {
  SchedulerSettings settings;
  settings.worker_num = 8;
  settings.server_num = 2;
  settings.enable_recovery = true;
  settings.hccl_cm_init = true;
  settings.topo_timeout = absl::Seconds(30);
  settings.max_restarts = 5;
  settings.restart_scope = "worker";
  settings.node_timeout = absl::Seconds(20);
  settings.disconnect_grace = absl::Seconds(3);
  settings.stop_timeout = absl::Seconds(4);
  settings.fence_timeout = absl::Seconds(50);
  settings.heartbeat_interval = absl::Milliseconds(100);
  settings.once = true;
  const CoreOptions options = MakeCoreOptions(settings, {});
  EXPECT_EQ(options.own.rules.worker_num(), 8u);
  EXPECT_EQ(options.own.rules.server_num(), 2u);
  EXPECT_TRUE(options.own.rules.enable_recovery());
  EXPECT_TRUE(options.own.rules.hccl_cm_init());
  EXPECT_EQ(options.own.rules.topo_timeout_ms(), 30'000);
  EXPECT_EQ(options.own.rules.max_restarts(), 5u);
  EXPECT_EQ(options.own.rules.restart_scope(), "worker");
  EXPECT_EQ(options.topo_timeout, absl::Seconds(30));
  EXPECT_EQ(options.lease, absl::Seconds(20));
  EXPECT_EQ(options.disconnect_grace, absl::Seconds(3));
  EXPECT_EQ(options.stop_timeout, absl::Seconds(4));
  EXPECT_EQ(options.fence_stop_timeout, absl::Seconds(4)) << "5 s, or stop_timeout if that is shorter";
  EXPECT_EQ(options.fence_timeout, absl::Seconds(50));
  EXPECT_EQ(options.heartbeat_interval, absl::Milliseconds(100));
  EXPECT_TRUE(options.is_once);
}

TEST(CoreOptions, TheEnvironmentGivesDefaultsUnlessItServesOneJobOnly) {
  SchedulerSettings settings;
  settings.worker_num = 8;
  settings.enable_recovery = true;
  settings.max_restarts = 2;
  const std::map<std::string, std::string> sources = {
      {"worker_num", "MS_WORKER_NUM"}, {"enable_recovery", "muster.conf:3"}, {"max_restarts", "--max-restarts"}};
  const OwnSettings own = MakeCoreOptions(settings, sources).own;
  EXPECT_EQ(own.defaults.worker_num(), 8u);
  EXPECT_FALSE(own.rules.has_worker_num());
  EXPECT_TRUE(own.rules.enable_recovery());
  EXPECT_EQ(own.rules.max_restarts(), 2u);
  EXPECT_EQ(own.sources.at("worker_num"), "MS_WORKER_NUM");
  settings.once = true;
  EXPECT_EQ(MakeCoreOptions(settings, sources).own.rules.worker_num(), 8u);
}

TEST(CoreOptions, ForEverIsNegative) {
  SchedulerSettings settings;
  settings.topo_timeout = absl::InfiniteDuration();
  EXPECT_LT(MakeCoreOptions(settings, {}).own.rules.topo_timeout_ms(), 0);
}

TEST(CoreOptions, ClusterIdsDiffer) { EXPECT_NE(NewClusterId(), NewClusterId()); }

}  // namespace
}  // namespace muster::scheduler
