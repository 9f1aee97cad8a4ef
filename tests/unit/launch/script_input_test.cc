#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker_agent/launch/command/command_check.h"

namespace muster::agent {
namespace {

using Words = std::vector<std::string>;

size_t Warnings(const Words& command) {
  SettingsFindings findings;
  CheckScriptInput(command, findings);
  EXPECT_THAT(findings.errors, testing::IsEmpty());
  return findings.warnings.size();
}

TEST(ScriptInput, IsWhereNothingElseIsNamed) {
  for (const Words& command : {Words{"python", "-"},
                               Words{"python3", "-", "--lr", "1"},
                               Words{"/usr/bin/python3.11"},
                               Words{"python", "-u"},
                               Words{"python", "-X", "dev", "-W", "ignore"},
                               Words{"python", "/dev/stdin"},
                               Words{"uv", "run", "-"},
                               Words{"uv", "run", "python", "-"},
                               Words{"env", "A=1", "bash"},
                               Words{"env", "-S", "python -u", "-"},
                               Words{"bash", "-e"},
                               Words{"sh", "-s", "x"},
                               Words{"bash", "-"},
                               Words{"bash", "-o", "pipefail"},
                               Words{"bash", "/dev/stdin"},
                               Words{"bash", "-c", "python -"},
                               Words{"R"},
                               Words{"R", "--no-save"},
                               Words{"R", "-f", "-"},
                               Words{"R", "--file=-"},
                               Words{"Rscript", "-"},
                               Words{"julia"},
                               Words{"node", "-"},
                               Words{"perl", "-w", "-"}}) {
    EXPECT_EQ(Warnings(command), 1) << testing::PrintToString(command);
  }
}

TEST(ScriptInput, IsNotReadByOthers) {
  for (const Words& command : {Words{},
                               Words{"python", "train.py", "-"},
                               Words{"python", "-c", "print(1)"},
                               Words{"python", "-m", "pkg"},
                               Words{"python", "-um", "pkg"},
                               Words{"python", "--version"},
                               Words{"python", "-V"},
                               Words{"uv", "run", "x.py"},
                               Words{"bash", "run.sh"},
                               Words{"bash", "-c", "true"},
                               Words{"bash", "-lc", "true"},
                               Words{"bash", "--version"},
                               Words{"bash", "-c", "python - <<E\nprint(1)\nE"},
                               Words{"bash", "-c", "echo 1 | python"},
                               Words{"bash", "-c", "echo 1 |\n python -"},
                               Words{"bash", "-c", "{ python -; } < f"},
                               Words{"bash", "-c", "(cd d && python -) < f"},
                               Words{"env", "-S", "python -u", "train.py"},
                               Words{"env", "-Spython -u", "train.py"},
                               Words{"env", "--split-string=python -u", "train.py"},
                               Words{"R", "-f", "x.R"},
                               Words{"R", "-e", "1"},
                               Words{"Rscript", "x.R"},
                               Words{"node", "x.js"},
                               Words{"cat"},
                               Words{"./a.out", "-"}}) {
    EXPECT_EQ(Warnings(command), 0) << testing::PrintToString(command);
  }
}

}  // namespace
}  // namespace muster::agent
