#include "worker_agent/launch/command/launchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "tests/unit/launch/temporary_folder.h"

namespace muster::agent {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Words = std::vector<std::string>;

std::string NameOf(const Words& command) {
  const std::optional<LauncherCommand> launcher = LauncherIn(command);
  return launcher ? launcher->name : "";
}

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
      {{"mpirun.mpich", "./a.out"}, "mpirun"},
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
      {{"bash", "-c", "cd /tmp && torchrun train.py"}, "torchrun"},
      {{"uv", "run", "torchrun", "train.py"}, "torchrun"},
      {{"uv", "--directory", "x", "run", "--with", "torch", "-p", "3.11", "--", "torchrun", "train.py"}, "torchrun"},
      {{"uv", "run", "-m", "torch.distributed.run", "train.py"}, "torchrun"},
      {{"uvx", "--from", "torch", "torchrun", "train.py"}, "torchrun"},
      {{"uv", "tool", "run", "torchrun", "train.py"}, "torchrun"},
      {{"poetry", "run", "torchrun", "train.py"}, "torchrun"},
      {{"pdm", "run", "-p", "x", "torchrun", "train.py"}, "torchrun"},
      {{"hatch", "-e", "gpu", "run", "torchrun", "train.py"}, "torchrun"},
      {{"pipenv", "run", "python", "-m", "torch.distributed.run", "train.py"}, "torchrun"},
      {{"pixi", "run", "-e", "gpu", "torchrun", "train.py"}, "torchrun"},
      {{"conda", "run", "--no-capture-output", "-n", "env", "torchrun", "train.py"}, "torchrun"},
      {{"micromamba", "run", "-p", "/opt/env", "deepspeed", "train.py"}, "deepspeed"},
      {{"numactl", "-l", "--cpunodebind", "0", "torchrun", "train.py"}, "torchrun"},
      {{"taskset", "-c", "0-7", "torchrun", "train.py"}, "torchrun"},
      {{"timeout", "-k", "5", "60", "mpirun", "./a.out"}, "mpirun"},
      {{"sudo", "-E", "-u", "me", "A=1", "torchrun", "train.py"}, "torchrun"},
      {{"xvfb-run", "-a", "-s", "-screen 0", "torchrun", "train.py"}, "torchrun"},
      {{"apptainer", "exec", "--nv", "-B", "/data", "image.sif", "torchrun", "train.py"}, "torchrun"},
      {{"env", "-", "A=1", "torchrun"}, "torchrun"},
      {{"env", "-i", "-S", "torchrun --nproc_per_node 2", "train.py"}, "torchrun"},
      {{"env", "A=1", "grep", "-S", "torchrun"}, ""},
      {{"python", "-um", "torch.distributed.run", "train.py"}, "torchrun"},
      {{"python", "-W", "ignore", "-mtorch.distributed.launch", "train.py"}, "torchrun"},

      {{}, ""},
      {{"uv", "pip", "install", "torchrun"}, ""},
      {{"uv", "run", "train.py", "torchrun"}, ""},
      {{"poetry", "install", "torchrun"}, ""},
      {{"conda", "run", "-n", "torchrun"}, ""},
      {{"command", "-v", "torchrun"}, ""},
      {{"taskset", "-p", "17"}, ""},
      {{"bash", "-c", "echo 'torchrun train.py' # torchrun"}, ""},
      {{"python", "train.py", "torchrun"}, ""},
      {{"python", "torchrun.py"}, ""},
      {{"python", "-c", "torchrun"}, ""},
      {{"python", "-m", "pkg.train", "torchrun"}, ""},
      {{"python", "-m"}, ""},
      {{"accelerate", "config"}, ""},
      {{"bash", "run_torchrun.sh"}, ""},  // no such file
      {{"bash", "-c"}, ""},
      {{"echo", "torchrun"}, ""},
      {{"env"}, ""},
      {{"nice", "-n"}, ""},
      {{"sh", "-c", "sh -c sh -c sh -c sh -c torchrun"}, ""},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(NameOf(c.command), c.launcher) << testing::PrintToString(c.command);
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
          "the command is torchrun, and would be started 2 times here, each a training of its own; "
          "ms-worker starts the processes itself, so leave torchrun out; or have it started once on each node: "
          "ms-worker --per_node --local_worker_num 2 … -- torchrun --nnodes {nnodes} --nproc_per_node "
          "{nproc_per_node} --node_rank {node_rank} --master_addr {master_addr} --master_port {master_port} …"));
}

TEST(Launchers, InAScriptIsAWarningThatNamesTheLine) {
  const TemporaryFolder folder;
  const std::string script = folder.path() + "/launch.sh";
  const auto warnings = [&](const std::string& text, const Words& command) {
    std::ofstream(script) << text;
    SettingsFindings findings;
    CheckLauncher(command, 2, findings);
    EXPECT_THAT(findings.errors, IsEmpty()) << text;
    return findings.warnings;
  };
  const std::string known[] = {
      "#!/bin/bash\nset -e\ntorchrun --nproc_per_node 2 \\\n  train.py\n",
      "#!/bin/bash\n\nif true; then torchrun train.py; fi\n",
      "#!/bin/bash\nA=1\nOMP_NUM_THREADS=1 env B=2 torchrun train.py > log 2>&1 &\n",
      "#!/bin/bash\nRUN=\"torchrun --nproc_per_node 2\"\n$RUN train.py\n",
      "#!/bin/bash\nRUN='python -m torch.distributed.run'\neval \"$RUN train.py\"\n",
      "#!/bin/bash\n: <<END\nmpirun x\nEND\nuv run torchrun train.py\n",
      "#!/bin/bash\ntorchrun --help\nexec torchrun \"$@\"\n",
      "#!/bin/bash\nfunction f() {\n  torchrun train.py; }\nf\n",
      "#!/bin/bash\ncat $(ls) |\n  torchrun train.py\n",
  };
  for (const std::string& text : known) {
    EXPECT_THAT(warnings(text, {"bash", script}),
                ElementsAre(ContainsRegex("the command is torchrun \\(line [2-5] of .*launch.sh\\), and would be "
                                          "started 2 times here")))
        << text;
    EXPECT_EQ(warnings(text, {"env", "A=1", "bash", "-e", script, "x"}).size(), 1) << text;
  }
  EXPECT_EQ(warnings("exec \"$@\"\n", {"sh", script, "torchrun", "train.py"}).size(), 1);
  const std::string unknown[] = {
      "# torchrun train.py\npython train.py\n",
      "echo torchrun train.py; echo 'x\ntorchrun y\n'\n",
      "cat <<-EOF > hosts\n\ttorchrun train.py\n\tEOF\npython train.py\n",
      "command -v torchrun || pip install torch\nwhich torchrun\n",
      "torchrun --version\n",
      "torchrun() { python \"$@\"; }\n",
      "case $1 in\n  torchrun) python train.py;;\nesac\n",
      "for torchrun in a b; do python train.py; done\n",
      "A=torchrun python train.py\n",
      "X=$(which torchrun)\n",
      "python train.py --launcher torchrun\n",
      "",
  };
  for (const std::string& text : unknown) EXPECT_THAT(warnings(text, {"bash", script}), IsEmpty()) << text;
  EXPECT_THAT(warnings("torchrun train.py\n", {script}), IsEmpty()) << "no #!";
  EXPECT_THAT(warnings("#!/usr/bin/perl\ntorchrun train.py\n", {"bash", script}), IsEmpty());
  EXPECT_THAT(warnings(std::string(size_t{65} << 10, '\n') + "torchrun train.py\n", {"bash", script}), IsEmpty());
}

TEST(Launchers, ScriptsThatCallThemselvesAndPipesAreNoTrap) {
  const TemporaryFolder folder;
  const std::string script = folder.path() + "/again.sh";
  std::ofstream(script) << "#!/bin/sh\nbash " << script << "\n" << script << "\n";
  EXPECT_EQ(NameOf({"bash", script}), "");
  const std::string pipe = folder.path() + "/pipe.sh";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(NameOf({"bash", pipe}), "");
  EXPECT_EQ(NameOf({"bash", "/dev/zero"}), "");
  std::string doubled = "A='x x x x x x x x'\n";
  for (int i = 0; i < 20; ++i) doubled += "A=$A$A\n";
  for (int i = 0; i < 15000; ++i) doubled += "$A \"$@\" ";
  const std::string growing = folder.path() + "/growing.sh";
  std::ofstream(growing) << doubled << "\neval \"bash " << growing << " $@ $@\"\ntorchrun train.py\n";
  EXPECT_EQ(NameOf({"bash", growing, std::string(1000, 'x'), "y"}), "");
  std::ofstream(growing) << doubled.substr(0, 60000) << "\neval \"bash " << growing << " $@ $@\"\ntorchrun train.py\n";
  EXPECT_EQ(NameOf({"bash", growing, std::string(1000, 'x'), "y"}), "torchrun");
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
