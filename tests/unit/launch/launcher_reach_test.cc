#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker_agent/launch/command/command_check.h"

namespace muster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Words = std::vector<std::string>;

SettingsFindings Check(const Words& command, uint32_t nodes, const std::map<std::string, std::string>& environment) {
  SettingsFindings findings;
  CheckReach(command, nodes, environment, findings);
  return findings;
}

const std::map<std::string, std::string> kNoSsh = {{"PATH", "/nowhere"}};

TEST(LauncherReach, OneNodeJustWorks) {
  for (const uint32_t nodes : {0U, 1U}) {
    const SettingsFindings findings = Check({"mpirun", "-H", "a:4,b:4", "./a.out"}, nodes, kNoSsh);
    EXPECT_THAT(findings.errors, IsEmpty());
    EXPECT_THAT(findings.warnings, IsEmpty());
  }
}

TEST(LauncherReach, OtherHostsWithoutSshAreRefused) {
  for (const Words& command :
       {Words{"mpirun", "-H", "a:4,b:4", "./a.out"}, Words{"mpiexec.hydra", "-f", "hosts", "./a.out"},
        Words{"bash", "-c", "horovodrun -np 8 -H a:4,b:4 python train.py"},
        Words{"env", "A=1", "/usr/bin/mpiexec", "--hostfile", "hosts", "./a.out"}}) {
    const SettingsFindings findings = Check(command, 2, kNoSsh);
    EXPECT_THAT(findings.errors, ElementsAre(HasSubstr("add --allow_exec (with --tls_config) on every node")));
    EXPECT_THAT(findings.warnings, IsEmpty());
  }
}

TEST(LauncherReach, OtherwiseItIsWarnedOf) {
  for (const Words& command : {Words{"mpirun", "-np", "8", "./a.out"}, Words{"mpirun", "-H", "localhost:8", "./a.out"},
                               Words{"deepspeed", "train.py"}}) {
    const SettingsFindings findings = Check(command, 2, kNoSsh);
    EXPECT_THAT(findings.errors, IsEmpty());
    EXPECT_THAT(findings.warnings, ElementsAre(HasSubstr("started on the first of 2 nodes: without --allow_exec")));
  }
  EXPECT_THAT(Check({"mpirun", "-H", "a,b", "./a.out"}, 2, {}).errors, IsEmpty()) << "it can't look for ssh";
}

TEST(LauncherReach, ALauncherWithAnotherWayIsLeftAlone) {
  const Words command = {"mpirun", "-H", "a:4,b:4", "./a.out"};
  for (const char* name : {"SLURM_JOB_ID", "OMPI_MCA_plm_rsh_agent", "HYDRA_LAUNCHER_EXEC"}) {
    std::map<std::string, std::string> environment = kNoSsh;
    environment[name] = "x";
    EXPECT_THAT(Check(command, 2, environment).errors, IsEmpty()) << name;
    EXPECT_THAT(Check(command, 2, environment).warnings, IsEmpty()) << name;
  }
  for (const Words& other : {Words{"srun", "-n", "8", "./a.out"}, Words{"python", "train.py"},
                             Words{"mpirun", "-mca", "plm_rsh_agent", "myssh", "-H", "a,b", "./a.out"}}) {
    EXPECT_THAT(Check(other, 2, kNoSsh).errors, IsEmpty());
    EXPECT_THAT(Check(other, 2, kNoSsh).warnings, IsEmpty());
  }
}

}  // namespace
}  // namespace muster::agent
