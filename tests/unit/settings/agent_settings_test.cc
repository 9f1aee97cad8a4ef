#include "worker_agent/settings/agent_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/net/address_rules.h"
#include "common/tls/tls_hand_over.h"
#include "scheduler/scheduler_settings.h"
#include "worker_agent/gateway/exec/program/holder.h"

namespace muster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Args = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

struct Loaded {
  explicit Loaded(const Args& args, const Variables& variables = {}) {
    SettingsTable table = AgentSettingsTable(settings);
    LoadResult result = LoadSettings(table, args, variables, true);
    settings.command = result.command;
    findings = result.findings;
    const SettingsFindings checked = CheckAgentSettings(settings);
    findings.errors.insert(findings.errors.end(), checked.errors.begin(), checked.errors.end());
    findings.warnings.insert(findings.warnings.end(), checked.warnings.begin(), checked.warnings.end());
  }
  AgentSettings settings;
  SettingsFindings findings;
};

TEST(AgentSettings, DefaultsNeedNothing) {
  const Loaded loaded({"python", "train.py", "--epochs", "3"});
  EXPECT_THAT(loaded.findings.errors, IsEmpty());
  EXPECT_THAT(loaded.findings.warnings, IsEmpty());
  EXPECT_EQ(loaded.settings.sched_host, "127.0.0.1");
  EXPECT_EQ(loaded.settings.sched_port, 8118);
  EXPECT_EQ(loaded.settings.local_worker_num, "1");
  EXPECT_EQ(loaded.settings.cluster_retry_num, 610u);
  EXPECT_EQ(loaded.settings.stop_timeout, absl::Seconds(30));
  EXPECT_THAT(loaded.settings.command, ElementsAre("python", "train.py", "--epochs", "3"));
}

TEST(AgentSettings, ReadsMindSporesStartupScript) {
  const Loaded loaded({"--", "python", "train.py"}, {{"MS_WORKER_NUM", "8"},
                                                     {"MS_SCHED_HOST", "127.0.0.1"},
                                                     {"MS_SCHED_PORT", "8118"},
                                                     {"MS_ROLE", "MS_WORKER"},
                                                     {"MS_NODE_ID", "0"},
                                                     {"DATA_PATH", "/d"}});
  EXPECT_THAT(loaded.findings.errors, IsEmpty());
  EXPECT_THAT(loaded.findings.warnings, IsEmpty());
  EXPECT_EQ(loaded.settings.worker_num, 8u);
  EXPECT_EQ(loaded.settings.node_id, "0");
}

TEST(AgentSettings, ReadsTorchrunsAndMsrunsWords) {
  const Loaded loaded({"--nproc-per-node=4", "--cluster_time_out", "60", "--node_rank=-1", "--log_dir", "/logs",
                       "--tail_worker_log=0,1", "--rdzv-id", "j1", "--bind_core=True", "--", "python"},
                      {{"MASTER_ADDR", "node7"}, {"MASTER_PORT", "29500"}, {"RANK_TABLE_FILE", "/t.json"}});
  EXPECT_THAT(loaded.findings.errors, IsEmpty());
  EXPECT_EQ(loaded.settings.local_worker_num, "4");
  EXPECT_EQ(loaded.settings.topo_timeout, absl::Seconds(60));
  EXPECT_FALSE(loaded.settings.node_rank);
  EXPECT_EQ(loaded.settings.log_dir, "/logs");
  EXPECT_THAT(*loaded.settings.tail, ElementsAre(NumberRange{0, 0}, NumberRange{1, 1}));
  EXPECT_EQ(loaded.settings.job_id, "j1");
  EXPECT_TRUE(loaded.settings.bind_core.is_auto);
  EXPECT_EQ(loaded.settings.master_addr, "node7");
  EXPECT_EQ(loaded.settings.master_port, "29500");
  EXPECT_EQ(loaded.settings.rank_table_file, "/t.json");
}

TEST(AgentSettings, MisleadingWordsNameTheRemedy) {
  const std::string two_meanings =
      ": this name means two things; for the scheduler that gathers the job write --sched_host and --sched_port, for "
      "PyTorch's MASTER_ADDR and MASTER_PORT write --torch_master_addr and --torch_master_port";
  EXPECT_THAT(
      Loaded({"--master_addr", "node1", "--master-port=29500", "--nnodes", "2", "python"}).findings.errors,
      ElementsAre("--master_addr" + two_meanings, "--master_port" + two_meanings,
                  "--nnodes: the size of a job is counted in workers, not in nodes; write --worker_num with the "
                  "number of all workers (nodes × workers on each)"));
}

TEST(AgentSettings, RolesAreMindSpores) {
  const struct {
    std::string text, role;
  } cases[] = {
      {"MS_WORKER", "MS_WORKER"}, {"MS_SCHED", "MS_SCHED"}, {"MS_PSERVER", "MS_PSERVER"}, {"MS_SERVER", "MS_PSERVER"}};
  for (const auto& c : cases) EXPECT_EQ(Loaded({}, {{"MS_ROLE", c.text}}).settings.role, c.role);
  EXPECT_THAT(Loaded({}, {{"MS_ROLE", "MS_CLIENT"}}).findings.errors,
              ElementsAre("role: \"MS_CLIENT\" (from MS_ROLE) must be one of: MS_WORKER, MS_PSERVER (or MS_SERVER), "
                          "MS_SCHED (torchrun's --role is not needed here); correct the variable or unset it"));
}

TEST(AgentSettings, HcclCmInitIsOneOrNo) {
  const struct {
    std::string text;
    bool is_on;
  } cases[] = {{"1", true}, {"true", true}, {"True", true}, {"0", false}, {"2", false}, {"yes", false}, {"no", false}};
  for (const auto& c : cases) {
    EXPECT_EQ(Loaded({}, {{"MS_HCCL_CM_INIT", c.text}}).settings.hccl_cm_init, c.is_on) << c.text;
  }
}

TEST(AgentSettings, NodeRankHasTwoVariablesAndNegativeIsNone) {
  EXPECT_EQ(Loaded({}, {{"NODE_RANK", "3"}}).settings.node_rank, 3);
  EXPECT_EQ(Loaded({}, {{"NODE_RANK", "3"}, {"MS_NODE_RANK", "4"}}).settings.node_rank, 4);
  EXPECT_FALSE(Loaded({}, {{"MS_NODE_RANK", "-1"}}).settings.node_rank);
}

TEST(AgentSettings, LabelsAreSplitAndKeptInOrder) {
  EXPECT_THAT(Loaded({"--label", "rack=r1,switch=s2", "--label=row=3"}).settings.labels,
              ElementsAre("rack=r1", "switch=s2", "row=3"));
  EXPECT_THAT(Loaded({}, {{"MS_LABEL", "rack=r1"}}).settings.labels, ElementsAre("rack=r1"));
}

TEST(AgentSettings, ChecksBeforeTheStartComeInAnyOrder) {
  for (const char* text : {"host,command,ring", "ring, command,host", "command,ring,host"}) {
    const AgentSettings settings = Loaded({"--preflight", text}).settings;
    EXPECT_EQ(settings.preflight, "host,command,ring");
    EXPECT_TRUE(ChecksHost(settings) && ChecksNode(settings) && ChecksRing(settings)) << text;
  }
  EXPECT_FALSE(ChecksHost(Loaded({"--preflight", "ring,command"}).settings));
}

TEST(AgentSettings, BadValuesSayWhatIsExpected) {
  const struct {
    std::string flag, value, rule;
  } cases[] = {
      {"sched_host", "node1:80", "must be HOST or HOST:PORT, with a port from 1024 to 65535"},
      {"torch_master_addr", "node1:8118", "must be a host name or numeric address without a port"},
      {"sched_host", "node 1", "must be a host name or a numeric IPv4 or IPv6 address"},
      {"sched_host", "", "must be a host name or a numeric IPv4 or IPv6 address"},
      {"sched_port", "0", "must be a port from 1024 to 65535"},
      {"worker_num", "0", "must be a whole number from 1 to 1000000"},
      {"preflight", "host,comand", "must be none, or some of host, command and ring, with commas between them"},
      {"straggler_ratio", "1", "must be a number above 1, at most 1000"},
      {"local_worker_num", "gpu", "must be a whole number from 1 to 1024, or auto (one for each device found)"},
      {"local_worker_num", "0", "must be a whole number from 1 to 1024, or auto (one for each device found)"},
      {"node_id", "a/b", "must be 1 to 128 letters, digits or . _ : @ -; character 2 is \"/\""},
      {"job_id", "", "must be 1 to 128 letters, digits or . _ : @ -, and is empty"},
      {"worker_ip", "node1", "must be a numeric IPv4 or IPv6 address of this machine"},
      {"worker_ip", "0.0.0.0", "must be a numeric IPv4 or IPv6 address of this machine"},
      {"worker_ip", "fe80::1%eth0", kNoLinkLocal},
      {"torch_master_addr", "fe80::1%eth0", kNoLinkLocal},
      {"node_rank", "x", "must be a whole number from 0 to 999999, or -1 for none"},
      {"label", "rack",
       "must be KEY=VALUE, with letters, digits and . _ - in both, for example rack=r12 (several: "
       "rack=r12,switch=s3)"},
      {"env", "A", "must be NAME=VALUE, with letters, digits and _ in NAME"},
      {"stop_signal", "FOO", "must be the name or number of a signal that ends processes (TERM, SIGTERM, 15, INT, …)"},
      {"bind_core", "0-3",
       "must be auto, device, or the CPUs of each local rank, for example \"0:0-3;1:4-7,12\" (rank 0 on CPUs 0 to 3, "
       "rank 1 on "
       "4 to 7 and 12), or as for msrun {\"device0\":[\"0-3\"]}"},
      {"port_range", "80-90", "must be A-B with 1024 ≤ A ≤ B ≤ 65535, for example 20000-20099"},
      {"devices", "3-1", "must be auto, none, or numbers of devices like 0-3 or 0,2"},
      {"tail", "first", "must be all, none, or a list of ranks like 0,3-5"},
      {"torch_master_port", "0", "must be a port from 1 to 65535"},
      {"restart_scope", "node", "must be one of: job, worker"},
      {"enable_recovery", "2", "must be 1 or 0 (also true or false, yes or no)"},
      {"cluster_retry_num", "0", "must be a whole number from 1 to 1000000000"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(Loaded({absl::StrCat("--", c.flag, "=", c.value)}).findings.errors,
                ElementsAre(absl::StrCat(c.flag, ": \"", c.value, "\" (from --", c.flag, ") ", c.rule,
                                         "; correct the flag or leave it out")));
  }
}

TEST(AgentSettings, EnvRefusesWhatMusterItselfReliesOn) {
  EXPECT_THAT(
      Loaded({"--env=MUSTER_START=x"}).findings.errors,
      ElementsAre(
          "env: \"MUSTER_START=x\" (from --env) sets MUSTER_START, which ms-worker sets itself: a later start "
          "of this node needs it to find and end processes that this one leaves; correct the flag or leave it out"));
  for (const std::string name :
       {"MUSTER_START", "MS_PROGRESS_FILE", "MUSTER_STORE", "MUSTER_EXEC_SOCKET", "MUSTER_EXEC_TOKEN",
        exec::kHolderVariable, "MUSTER_RING_PASSED", kTlsHandOverVariable}) {
    const Loaded loaded({absl::StrCat("--env=", name, "=")});
    EXPECT_THAT(loaded.findings.errors, SizeIs(1)) << name;
    EXPECT_THAT(loaded.settings.env, IsEmpty()) << name;
  }
  EXPECT_THAT(Loaded({"--env=MUSTER_NODE_ID=a", "--env=RANK=3"}).findings.errors, IsEmpty());
}

TEST(AgentSettings, GoodValuesPass) {
  for (const Args& args :
       {Args{"--sched_host=::1"}, Args{"--sched_host=fd00::1"}, Args{"--sched_host=node-1.example.org"},
        Args{"--local_worker_num=auto"}, Args{"--worker_ip=::1"}, Args{"--stop_signal=SIGINT"},
        Args{"--stop_signal=15"}, Args{"--port_range=20000-20001"}, Args{"--tail=all"}, Args{"--env=A=b", "--env=C="},
        Args{"--bind_core=0:0-3"}, Args{"--standalone"}, Args{"--standalone", "--sched_host=localhost"},
        Args{"--spare", "--enable_recovery"}, Args{"--local_worker_num=8", "--worker_num=8"}}) {
    const Loaded loaded(args);
    EXPECT_THAT(loaded.findings.errors, IsEmpty()) << args[0];
    EXPECT_THAT(loaded.findings.warnings, IsEmpty()) << args[0];
  }
}

TEST(CheckAgentSettings, SaysWhatContradicts) {
  const struct {
    Args args;
    std::vector<std::string> errors, warnings;
  } cases[] = {
      {{"--local_worker_num=8", "--worker_num=4"},
       {"local_worker_num is 8, but worker_num (MS_WORKER_NUM), which counts the processes of all nodes, is 4; lower "
        "--local_worker_num or raise MS_WORKER_NUM"},
       {}},
      {{"--role=MS_PSERVER", "--local_worker_num=3", "--server_num=2", "--worker_num=8"},
       {"local_worker_num is 3, but server_num (MS_SERVER_NUM), which counts the processes of all nodes, is 2; lower "
        "--local_worker_num or raise MS_SERVER_NUM"},
       {}},
      {{"--jax=auto-detect", "--restart_scope=worker"},
       {"jax: the ranks of a JAX job can only start again together; leave --restart_scope out, or set it to job"},
       {}},
      {{"--jax=auto-detect", "--mpi=pmix"},
       {"jax: auto-detect sets variables of Open MPI for the processes, which mislead a real MPI; leave it out, and "
        "give initialize() the numbers of JAX_NUM_PROCESSES and JAX_PROCESS_ID"},
       {}},
      {{"--per_node", "--per_job"}, {"per_node and per_job contradict each other; leave one of them out"}, {}},
      {{"--mpi=pmix", "--per_job"},
       {"mpi: each rank of an MPI job needs a process of its own, but per_node and per_job start one for several "
        "ranks; leave out either this setting or those two"},
       {}},
      {{"--mpi=auto", "--per_node"}, {}, {}},
      {{"--horovod=gloo", "--per_node"},
       {"horovod: each rank of a Horovod job needs a process of its own, but per_node and per_job start one for "
        "several ranks; leave out either this setting or those two"},
       {}},
      {{"--horovod=mpi", "--restart_scope=worker"},
       {"horovod: the ranks of a Horovod job can only start again together; leave --restart_scope out, or set it to "
        "job"},
       {}},
      {{"--allow_exec", "--tls_config=tls.conf"},
       {"allow_exec: it is for a command that is started once for the job; add --per_job, or leave --allow_exec out"},
       {}},
      {{"--allow_exec", "--per_job"},
       {"allow_exec: without TLS, any program that reaches this agent's port could run commands as you; set "
        "--tls_config (MS_TLS_CONFIG), or --allow_exec=insecure in a network that is closed to others"},
       {}},
      {{"--allow_exec=insecure", "--per_job"},
       {},
       {"allow_exec=insecure: without TLS, any program that listens in the network can run commands as you; set "
        "--tls_config (MS_TLS_CONFIG)"}},
      {{"--allow_exec=insecure", "--per_job", "--tls_config=tls.conf"}, {}, {}},
      {{"--allow_exec", "--per_job", "--tls_config=tls.conf"}, {}, {}},
      {{"--mpi=pmi1", "--restart_scope=worker"},
       {"mpi: the ranks of an MPI job can only start again together; leave --restart_scope out, or set it to job"},
       {}},
      {{"--standalone", "--sched_host=192.0.2.1"},
       {"with --standalone the scheduler is on this machine, but sched_host (MS_SCHED_HOST) is 192.0.2.1; leave one "
        "of --sched_host (MS_SCHED_HOST) and --standalone out"},
       {}},
      {{"--standalone", "--local_worker_num=2", "--worker_num=8"},
       {"with --standalone all workers run on this machine, but local_worker_num is 2 and worker_num (MS_WORKER_NUM) "
        "is 8; "
        "set --local_worker_num 8 or leave --worker_num (MS_WORKER_NUM) out"},
       {}},
      {{"--port_range=20000-20003", "--local_worker_num=4"},
       {"port_range 20000-20003 has 4 ports, but 5 are needed (one for each of 4 slots and one for MASTER_PORT); widen "
        "--port_range"},
       {}},
      {{"--port_range=20000-20000"},
       {"port_range 20000-20000 has 1 ports, but 2 are needed (one for each of 1 slots and one for MASTER_PORT); widen "
        "--port_range"},
       {}},
      {{"--bind_core=0:0;2:1", "--local_worker_num=2"}, {}, {}},  // others on this machine have the lower local ranks
      {{"--bind_core=0:0;2:1", "--worker_num=2"},
       {},
       {"bind_core names local rank 2, but there are 2 ranks in all (MS_WORKER_NUM), so local ranks end at 1; correct "
        "--bind_core"}},
      {{"--bind_core=0:0;2:1", "--standalone", "--local_worker_num=2"},
       {},
       {"bind_core names local rank 2, but there are 2 ranks in all (MS_WORKER_NUM), so local ranks end at 1; correct "
        "--bind_core"}},
      {{"--worker_ip=192.0.2.7"},
       {},
       {"worker_ip (MS_WORKER_IP) is 192.0.2.7, which is no address of this machine, but the other nodes will use it "
        "to reach this one; correct it or leave it out, unless that address is forwarded to this machine"}},
      {{"--tail=0-3,8", "--worker_num=8"},
       {},
       {"tail names rank 8, but MS_WORKER_NUM is 8, so ranks end at 7; correct --tail"}},
      {{"--tail=8"}, {}, {}},  // the scheduler or another node sets the number
      {{"--stop_signal=9"},
       {},
       {"stop_signal is KILL, which leaves the processes no time to save a checkpoint; leave --stop_signal out (TERM), "
        "and lower --stop_timeout where stopping takes too long"}},
      {{"--leftover=wait"},
       {},
       {"leftover has no effect without --per_node or --per_job: background processes of a slot's process are always "
        "ended; leave it out"}},
      {{"--leftover=end", "--per_node"}, {}, {}},
      {{"--spare"},
       {},
       {"spare: a spare takes over only with recovery, and that is not switched on here; set MS_ENABLE_RECOVERY=1"}},
      {{"--max_restarts=3", "--enable_recovery=0"},
       {},
       {"max_restarts has no effect with MS_ENABLE_RECOVERY=0; set MS_ENABLE_RECOVERY=1 or leave it out"}},
      {{"--max_restarts=3"},
       {},
       {"max_restarts: processes are restarted only with recovery, and that is not switched on here; add "
        "--enable_recovery (MS_ENABLE_RECOVERY=1)"}},
      {{"--max_restarts=0"}, {}, {}},
      {{"--redirects=3"}, {"redirects is 3, but there is no folder for the files; add --log_dir FOLDER"}, {}},
      {{"--redirects=3", "--log_dir=logs"}, {}, {}},
      {{"--redirects=0", "--tee=3"}, {}, {}},
      {{"--tf_config", "--per_job"},
       {"tf_config: TF_CONFIG names processes on each node, and per_job starts one only; leave one of them out"},
       {}},
      {{"--node-timeout", "60"},
       {},
       {"--node_timeout=60 is for ms-scheduler and has no effect on ms-worker; give it to ms-scheduler, or add "
        "--with_scheduler"}},
      {{"--node-timeout", "60", "--with_scheduler"}, {}, {}},
      {{"--join=True"},
       {},
       {"join (from --join) has no effect: ms-worker always stays until its processes have ended"}},
      {{"--role=MS_SCHED", "--local_worker_num=8", "--worker_num=4"}, {}, {}},
  };
  for (const auto& c : cases) {
    const Loaded loaded(c.args);
    EXPECT_EQ(loaded.findings.errors, c.errors) << c.args[0];
    EXPECT_EQ(loaded.findings.warnings, c.warnings) << c.args[0];
  }
}

TEST(AgentSettings, TakesWhatIsMeantForTheScheduler) {
  scheduler::SchedulerSettings scheduler_settings;
  const SettingsTable table = scheduler::SchedulerSettingsTable(scheduler_settings);
  AgentSettings settings;
  const SettingsTable agents = AgentSettingsTable(settings);
  for (const Setting& setting : table.settings()) {
    bool is_known = false;
    for (const Setting& ours : agents.settings()) is_known = is_known || ours.flag == setting.flag;
    EXPECT_TRUE(is_known) << setting.flag;
  }
  EXPECT_THAT(Loaded({}, {{"MS_NODE_TIMEOUT", "60"}}).findings.warnings, IsEmpty());
  EXPECT_THAT(Loaded({}, {{"MS_NODE_TIMEOUT", "60"}}).settings.scheduler_flags, IsEmpty());
}

TEST(AgentSettings, KeepsWhatASharedConfigFileSaysToTheScheduler) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/agent_settings_test.", getpid(), ".conf");
  std::ofstream(path) << "node_timeout = 60\nfence_timeout = 90\n";
  const Loaded loaded({"--config", path, "--node_timeout=30"}, {{"MS_FENCE_TIMEOUT", "80"}});
  const Loaded of_the_file({"--config", path});
  std::remove(path.c_str());
  EXPECT_THAT(loaded.settings.scheduler_flags, ElementsAre("--node_timeout=30"));
  EXPECT_THAT(loaded.settings.scheduler_config, IsEmpty()) << "a flag and a variable win over it";
  EXPECT_THAT(of_the_file.settings.scheduler_config, ElementsAre("--node_timeout=60", "--fence_timeout=90"));
  EXPECT_THAT(of_the_file.findings.warnings, IsEmpty());
}

}  // namespace
}  // namespace muster::agent
