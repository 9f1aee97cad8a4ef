#include "common/settings/foreign_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "worker_agent/settings/agent_settings.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

LoadResult Load(const std::vector<std::string>& args) {
  agent::AgentSettings settings;
  SettingsTable table = agent::AgentSettingsTable(settings);
  return LoadSettings(table, args, {}, true);
}

TEST(ForeignWords, EachNamesWhatToWrite) {
  const struct {
    std::vector<std::string> typed;
    std::string hint;
  } cases[] = {
      {{"-n", "4"}, "-n: write --worker_num 4 for"},
      {{"-np", "4"}, "-np: write --worker_num 4 for"},
      {{"--np=4"}, "--np: write --worker_num 4 for"},
      {{"--ntasks", "4"}, "--ntasks: write --worker_num 4 for"},
      {{"--num-processes", "4"}, "--num_processes: write --worker_num 4 for"},
      {{"-N", "2"}, "-N: this means nodes to srun"},
      {{"-npernode", "2"}, "-npernode: write --local_worker_num 2"},
      {{"--ppn", "2"}, "--ppn: write --local_worker_num 2"},
      {{"--ntasks-per-node=2"}, "--ntasks_per_node: write --local_worker_num 2"},
      {{"--nnodes", "2"}, "counted in workers, not in nodes"},
      {{"--num_nodes", "2"}, "counted in workers, not in nodes"},
      {{"--rank", "1"}, "--rank: the scheduler gives each process its rank"},
      {{"--machine_rank", "1"}, "--machine_rank: write --node_rank 1"},
      {{"--rdzv_endpoint", "node1:29500"}, "--sched_host HOST"},
      {{"--main_process_ip", "node1"}, "--sched_host HOST"},
      {{"--hostfile", "hosts"}, "there is no list of hosts"},
      {{"-H", "a,b"}, "there is no list of hosts"},
      {{"-x", "PATH"}, "write --env NAME=VALUE"},
      {{"--run_path"}, "a command is started as you typed it"},
      {{"-t", "3"}, "-t: write --tee 3"},
      {{"-r", "3"}, "-r: write --redirects 3 and --log_dir FOLDER"},
      {{"--monitor-interval", "1"}, "--monitor_interval: leave this out"},
      {{"--rdzv-conf", "timeout=60"}, "write --topo_timeout SECONDS"},
      {{"--numa-binding", "node"}, "write --bind_core auto"},
      {{"--enable_tiered_parallel_tcpstore=true"}, "it is not needed here"},
      {{"--bind-to", "core"}, "write --bind_core auto"},
      {{"--rdzv_backend", "c10d"}, "ms-scheduler is the rendezvous"},
      {{"--allow-run-as-root"}, "it is not needed here"},
  };
  for (const auto& c : cases) {
    std::vector<std::string> args = c.typed;
    args.insert(args.end(), {"train.py", "--lr", "1"});
    const LoadResult loaded = Load(args);
    EXPECT_THAT(loaded.findings.errors, ElementsAre(HasSubstr(c.hint))) << c.typed[0];
    EXPECT_THAT(loaded.command, ElementsAre("train.py", "--lr", "1")) << c.typed[0];
  }
}

TEST(ForeignWords, ThoseThatMeanTheSameAreTaken) {
  EXPECT_THAT(Load({"--nproc-per-node", "4", "--node-rank=1", "--standalone", "--rdzv_id", "j", "--max-restarts=2",
                    "--cluster_time_out=60", "train.py"})
                  .findings.errors,
              IsEmpty());
}

TEST(ForeignWords, TorchrunsWordsForTheCommandAreTaken) {
  EXPECT_THAT(Load({"--module", "pkg.train", "--lr", "1"}).command, ElementsAre("-m", "pkg.train", "--lr", "1"));
  const LoadResult as_it_stands = Load({"--no-python", "./train.py", "--no-python"});
  EXPECT_THAT(as_it_stands.findings.errors, IsEmpty());
  EXPECT_THAT(as_it_stands.command, ElementsAre("./train.py", "--no-python"));
  EXPECT_THAT(Load({"--redirects=3", "--tee", "3", "--log-dir", "logs", "train.py"}).findings.errors, IsEmpty());
  EXPECT_THAT(Load({"--tee", "0:1", "train.py"}).findings.errors, ElementsAre(HasSubstr("write --tail RANKS")));
  EXPECT_THAT(Load({"--role", "trainer", "train.py"}).findings.errors, ElementsAre(HasSubstr("not needed here")));
}

TEST(ForeignWords, TheCommandsOwnFlagsAreItsOwn) {
  EXPECT_THAT(Load({"train.py", "-n", "4", "--rank", "1"}).findings.errors, IsEmpty());
  EXPECT_THAT(Load({"--", "mpirun", "-np", "4"}).findings.errors, IsEmpty());
}

TEST(ForeignWords, AValueThatCantBeShownIsN) {
  EXPECT_EQ(ForeignWordHint("write {value}", ""), "write N");
  EXPECT_EQ(ForeignWordHint("write {value}", std::string(100, 'x')), "write N");
  EXPECT_EQ(ForeignWordHint("write {value}", "4\n"), "write 4\\n");
}

}  // namespace
}  // namespace muster
