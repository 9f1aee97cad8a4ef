#include "worker_agent/launch/command/launchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Words = std::vector<std::string>;

TEST(Launchers, AreKnownByWhatTheCommandSays) {
  const struct {
    Words command;
    std::string launcher;  // empty: none
  } cases[] = {
      {{"torchrun", "--nproc_per_node", "2", "train.py"}, "torchrun"},
      {{"/opt/venv/bin/torchrun", "train.py"}, "torchrun"},
      {{"python3.11", "-u", "-m", "torch.distributed.run", "train.py"}, "torchrun"},
      {{"/usr/bin/python3", "-X", "dev", "-m", "torch.distributed.launch", "train.py"}, "torchrun"},
      {{"python", "/usr/bin/torchrun", "train.py"}, "torchrun"},
      {{"mpirun", "-np", "4", "./a.out"}, "mpirun"},
      {{"mpiexec", "./a.out"}, "mpiexec"},
      {{"mpiexec.hydra", "./a.out"}, "mpiexec.hydra"},
      {{"orterun", "./a.out"}, "orterun"},
      {{"horovodrun", "-np", "4", "python", "train.py"}, "horovodrun"},
      {{"msrun", "train.py"}, "msrun"},
      {{"torch_npu_run", "train.py"}, "torch_npu_run"},
      {{"python", "-m", "mindspore.parallel.cluster.run", "train.py"}, "msrun"},
      {{"deepspeed", "train.py"}, "deepspeed"},
      {{"accelerate", "launch", "train.py"}, "accelerate launch"},
      {{"python", "-m", "accelerate.commands.launch", "train.py"}, "accelerate launch"},
      {{"srun", "-n", "4", "./a.out"}, "srun"},
      {{"env", "A=1", "-u", "B", "-i", "torchrun", "train.py"}, "torchrun"},
      {{"nice", "-n", "5", "nohup", "torchrun"}, "torchrun"},
      {{"stdbuf", "-oL", "mpirun", "./a.out"}, "mpirun"},
      {{"bash", "-c", "torchrun --nproc_per_node 2 train.py"}, "torchrun"},
      {{"bash", "-lc", "exec torchrun train.py && echo done"}, "torchrun"},
      {{"sh", "-c", "env A=1 mpirun ./a.out; true"}, "mpirun"},

      {{}, ""},
      {{"python", "train.py", "torchrun"}, ""},
      {{"python", "torchrun.py"}, ""},
      {{"python", "-c", "torchrun"}, ""},
      {{"python", "-m", "pkg.train", "torchrun"}, ""},
      {{"python", "-m"}, ""},
      {{"accelerate", "config"}, ""},
      {{"bash", "-c", "cd /tmp && torchrun train.py"}, ""},  // can't be told surely
      {{"bash", "run_torchrun.sh"}, ""},
      {{"bash", "-c"}, ""},
      {{"echo", "torchrun"}, ""},
      {{"env"}, ""},
      {{"nice", "-n"}, ""},
      {{"sh", "-c", "sh -c sh -c sh -c sh -c torchrun"}, ""},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(LauncherOf(c.command).value_or(""), c.launcher) << testing::PrintToString(c.command);
  }
}

TEST(Launchers, ThoseThatHostPyTorchsStore) {
  EXPECT_TRUE(BringsTorchStore({"torchrun", "train.py"}));
  EXPECT_TRUE(BringsTorchStore({"python3", "-m", "torch.distributed.launch", "train.py"}));
  EXPECT_TRUE(BringsTorchStore({"env", "A=1", "torch_npu_run", "train.py"}));
  EXPECT_TRUE(BringsTorchStore({"accelerate", "launch", "train.py"}));
  EXPECT_FALSE(BringsTorchStore({"python3", "train.py", "torchrun"}));
  EXPECT_FALSE(BringsTorchStore({"mpirun", "./a.out"}));
  EXPECT_FALSE(BringsTorchStore({}));
}

TEST(Launchers, SeveralSideBySideAreRefusedWithTheCommand) {
  SettingsFindings findings;
  CheckLauncher({"torchrun", "train.py"}, 2, findings);
  EXPECT_THAT(findings.warnings, IsEmpty());
  EXPECT_THAT(
      findings.errors,
      ElementsAre(
          "the command is torchrun, and would be started 2 times here, for as many trainings side by side; "
          "ms-worker starts the processes itself, so leave torchrun out; or have it started once on each node: "
          "ms-worker --per_node --local_worker_num 2 … -- torchrun --nnodes {nnodes} --nproc_per_node "
          "{nproc_per_node} --node_rank {node_rank} --master_addr {master_addr} --master_port {master_port} …"));
}

TEST(Launchers, OneOnANodeIsWarnedOf) {
  SettingsFindings findings;
  CheckLauncher({"mpirun", "./a.out"}, 1, findings);
  EXPECT_THAT(findings.errors, IsEmpty());
  EXPECT_THAT(
      findings.warnings,
      ElementsAre(HasSubstr("so leave mpirun out, unless the program itself uses MPI; or have it started once on the "
                            "first node: ms-worker --per_job … -- mpirun -np {world_size} …")));
  findings = {};
  CheckLauncher({"python", "train.py"}, 8, findings);
  EXPECT_THAT(findings.errors, IsEmpty());
  EXPECT_THAT(findings.warnings, IsEmpty());
}

}  // namespace
}  // namespace muster::agent
