#include "worker_agent/launch/command/python_module.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/unit/launch/temporary_folder.h"

namespace muster::agent {
namespace {

TEST(PythonModule, IsSeenInWhatTheScriptSays) {
  const struct {
    const char* text;
    bool is_used;
  } cases[] = {
      {"import horovod.torch as hvd\n", true},
      {"import os, horovod.tensorflow.keras\n", true},
      {"from horovod import torch\n", true},
      {"def main():\n    import horovod.torch as hvd\n", true},
      {"if __name__ == '__main__':\n    import horovod.torch\n", true},
      {"try:\n    import horovod.torch\nexcept ImportError:\n    pass\n", false},
      {"import horovodish\n", false},
      {"# import horovod\n", false},
      {"print('import horovod')\n", false},
  };
  const TemporaryFolder folder;
  const std::string script = folder.path() + "/train.py";
  for (const auto& each : cases) {
    std::ofstream(script) << each.text;
    EXPECT_EQ(UsesPythonModule({"python3", "-u", script}, "horovod"), each.is_used) << each.text;
    EXPECT_EQ(UsesPythonModule({"env", "A=1", "/usr/bin/python3", script}, "horovod"), each.is_used) << each.text;
    EXPECT_EQ(UsesPythonModule({"uv", "run", script}, "horovod"), each.is_used) << each.text;
    EXPECT_EQ(UsesPythonModule({"conda", "run", "-n", "e", "python", script}, "horovod"), each.is_used) << each.text;
    EXPECT_EQ(UsesPythonModule({"bash", "-c", "cd . && python3 " + script}, "horovod"), each.is_used) << each.text;
    EXPECT_FALSE(UsesPythonModule({"bash", "-c", "mpirun python3 " + script}, "horovod")) << each.text;
    EXPECT_FALSE(UsesPythonModule({"python3", script}, "mpi4py")) << each.text;
  }
}

TEST(PythonModule, OfOtherProgramsIsNone) {
  EXPECT_TRUE(UsesPythonModule({"python3", "-m", "horovod.something"}, "horovod"));
  EXPECT_FALSE(UsesPythonModule({"python3", "-m", "horovod.runner.launch", "train.py"}, "horovod")) << "a launcher";
  EXPECT_FALSE(UsesPythonModule({"horovodrun", "python3", "-m", "horovod"}, "horovod"));
  EXPECT_FALSE(UsesPythonModule({"./a.out", "horovod"}, "horovod"));
  EXPECT_FALSE(UsesPythonModule({}, "horovod"));
}

}  // namespace
}  // namespace muster::agent
