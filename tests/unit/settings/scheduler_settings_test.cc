#include "scheduler/scheduler_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "worker_agent/settings/agent_settings.h"

namespace muster::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Loaded {
  explicit Loaded(const std::vector<std::string>& args, const std::map<std::string, std::string>& variables = {}) {
    SettingsTable table = SchedulerSettingsTable(settings);
    findings = LoadSettings(table, args, variables).findings;
  }
  SchedulerSettings settings;
  SettingsFindings findings;
};

TEST(SchedulerSettings, DefaultsAreMindSpores) {
  const Loaded loaded({});
  EXPECT_THAT(loaded.findings.errors, IsEmpty());
  EXPECT_EQ(loaded.settings.sched_host, "127.0.0.1");
  EXPECT_EQ(loaded.settings.sched_port, 8118);
  EXPECT_EQ(loaded.settings.node_timeout, absl::Seconds(600));
  EXPECT_EQ(loaded.settings.receive_msg_timeout, absl::Seconds(600));
  EXPECT_FALSE(loaded.settings.topo_timeout);
  const SettingsFindings checked = CheckSchedulerSettings(loaded.settings);
  EXPECT_THAT(checked.errors, IsEmpty());
  EXPECT_THAT(checked.warnings, IsEmpty());
}

TEST(SchedulerSettings, ReadsMindSporesVariables) {
  const Loaded loaded({}, {{"MS_SCHED_HOST", "::1"},
                           {"MS_SCHED_PORT", "9000"},
                           {"MS_WORKER_NUM", "16"},
                           {"MS_SERVER_NUM", "2"},
                           {"MS_ENABLE_RECOVERY", "1"},
                           {"MS_RECOVERY_PATH", "/r"},
                           {"MS_HCCL_CM_INIT", "1"},
                           {"MS_TOPO_TIMEOUT", "-1"},
                           {"MS_NODE_TIMEOUT", "30"},
                           {"MS_RECEIVE_MSG_TIMEOUT", "15"}});
  EXPECT_THAT(loaded.findings.errors, IsEmpty());
  EXPECT_THAT(loaded.findings.warnings, IsEmpty());
  EXPECT_EQ(loaded.settings.sched_host, "::1");
  EXPECT_EQ(loaded.settings.sched_port, 9000);
  EXPECT_EQ(loaded.settings.worker_num, 16u);
  EXPECT_EQ(loaded.settings.server_num, 2u);
  EXPECT_EQ(loaded.settings.enable_recovery, true);
  EXPECT_EQ(loaded.settings.recovery_path, "/r");
  EXPECT_EQ(loaded.settings.hccl_cm_init, true);
  EXPECT_EQ(loaded.settings.topo_timeout, absl::InfiniteDuration());
  EXPECT_EQ(loaded.settings.node_timeout, absl::Seconds(30));
  EXPECT_EQ(loaded.settings.receive_msg_timeout, absl::Seconds(15));
}

TEST(SchedulerSettings, PortZeroIsTheKernelsChoice) {
  EXPECT_EQ(Loaded({"--sched_port=0"}).settings.sched_port, 0);
  EXPECT_THAT(
      Loaded({"--sched_port=80"}).findings.errors,
      ElementsAre("sched_port: \"80\" (from --sched_port) must be a port from 1024 to 65535, or 0 for one that the "
                  "kernel chooses; correct the flag or leave it out"));
}

TEST(SchedulerSettings, TakesWhatIsMeantForTheWorker) {
  agent::AgentSettings agent_settings;
  const SettingsTable agents = agent::AgentSettingsTable(agent_settings);
  for (const Setting& setting : agents.settings()) {
    for (const std::string& flag : setting.aliases) {
      EXPECT_THAT(Loaded({"--" + flag + "=1"}).findings.errors, IsEmpty()) << flag;
    }
    std::map<std::string, std::string> variables;
    for (const std::string& name : setting.env) variables[name] = "1";
    static const std::set<std::string> shared_choices = {"log_format",  "log_level",      "restart_scope",
                                                         "sched_port",  "mindspore_port", "tls_identity",
                                                         "crl_expired", "fence_needs",    "stall_action"};
    if (shared_choices.contains(setting.flag)) continue;
    EXPECT_THAT(Loaded({"--" + setting.flag + "=1"}).findings.errors, IsEmpty()) << setting.flag;
    EXPECT_THAT(Loaded({}, variables).findings.errors, IsEmpty()) << setting.flag;
    EXPECT_THAT(Loaded({}, variables).findings.warnings, IsEmpty()) << setting.flag;
  }
}

TEST(CheckSchedulerSettings, SaysWhatContradicts) {
  const struct {
    const char* name;
    std::function<void(SchedulerSettings&)> change;
    std::vector<std::string> errors, warnings;
  } cases[] = {
      {"a lease of three heartbeats is enough",
       [](auto& s) { s.node_timeout = absl::Seconds(6); },
       {},
       {"disconnect_grace (10 s) is above node_timeout (MS_NODE_TIMEOUT, 6 s): a broken connection is tolerated longer "
        "than silence; lower --disconnect_grace"}},
      {"a lease below three heartbeats",
       [](auto& s) {
         s.node_timeout = absl::Seconds(5);
         s.disconnect_grace = absl::Seconds(1);
       },
       {"node_timeout (MS_NODE_TIMEOUT, the lease) is 5 s, but must be at least 3 heartbeats of 2 s = 6 s; raise "
        "MS_NODE_TIMEOUT or set --heartbeat_interval to 1.666 s or less"},
       {}},
      {"the user's own heartbeat counts",
       [](auto& s) {
         s.node_timeout = absl::Seconds(20);
         s.heartbeat_interval = absl::Seconds(7);
       },
       {"node_timeout (MS_NODE_TIMEOUT, the lease) is 20 s, but must be at least 3 heartbeats of 7 s = 21 s; raise "
        "MS_NODE_TIMEOUT or set --heartbeat_interval to 6.666 s or less"},
       {}},
      {"rejoin above the topology's timeout",
       [](auto& s) { s.rejoin_timeout = absl::Seconds(1801); },
       {},
       {"rejoin_timeout (1801 s) is above topo_timeout (MS_TOPO_TIMEOUT, 1800 s): the scheduler waits longer for "
        "a lost node than for a new job; lower --rejoin_timeout or raise MS_TOPO_TIMEOUT"}},
      {"for ever is not above for ever",
       [](auto& s) { s.rejoin_timeout = s.topo_timeout = absl::InfiniteDuration(); },
       {},
       {}},
      {"a fence without time to stop",
       [](auto& s) { s.fence_timeout = absl::Seconds(14); },
       {"fence_timeout is 14 s, but must be above fence_stop_timeout (5 s) + 5 s + 2 heartbeats of 2 s = 14 s; "
        "raise --fence_timeout or lower --fence_stop_timeout"},
       {}},
      {"a fence with just enough", [](auto& s) { s.fence_timeout = absl::Milliseconds(14'001); }, {}, {}},
      {"rejoin below the fence",
       [](auto& s) {
         s.fence_timeout = absl::Seconds(60);
         s.rejoin_timeout = absl::Seconds(50);
       },
       {},
       {"rejoin_timeout (50 s) is below fence_timeout (60 s): the job fails before a spare may take over; raise "
        "--rejoin_timeout"}},
      {"recovery's settings without recovery",
       [](auto& s) {
         s.enable_recovery = false;
         s.max_restarts = 3;
       },
       {},
       {"max_restarts has no effect with MS_ENABLE_RECOVERY=0; set MS_ENABLE_RECOVERY=1 or leave it out"}},
      {"no restarts without recovery",
       [](auto& s) {
         s.enable_recovery = false;
         s.max_restarts = 0;
       },
       {},
       {}},
  };
  for (const auto& c : cases) {
    SchedulerSettings settings;
    c.change(settings);
    const SettingsFindings findings = CheckSchedulerSettings(settings);
    EXPECT_EQ(findings.errors, c.errors) << c.name;
    EXPECT_EQ(findings.warnings, c.warnings) << c.name;
  }
}

TEST(SchedulerTimeouts, ShowsWhatWillHold) {
  const auto value_of = [](const SchedulerSettings& settings, const std::string& name) {
    for (const TimeoutStep& step : SchedulerTimeouts(settings)) {
      if (step.name == name) return step.value;
    }
    return -absl::InfiniteDuration();
  };
  SchedulerSettings settings;
  EXPECT_EQ(value_of(settings, "heartbeat"), absl::Seconds(2));
  EXPECT_EQ(value_of(settings, "fence_timeout"), absl::Seconds(60));
  EXPECT_EQ(value_of(settings, "scheduler away"), absl::Seconds(50));
  EXPECT_EQ(value_of(settings, "rejoin_timeout"), absl::Seconds(1800));
  settings.topo_timeout = absl::Seconds(60);
  settings.node_timeout = absl::Seconds(3);
  EXPECT_EQ(value_of(settings, "heartbeat"), absl::Seconds(1));
  EXPECT_EQ(value_of(settings, "rejoin_timeout"), absl::Seconds(60));
  EXPECT_EQ(value_of(settings, "topo_timeout"), absl::Seconds(60));
}

}  // namespace
}  // namespace muster::scheduler
