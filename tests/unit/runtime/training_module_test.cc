// python/muster_training.py as training scripts use it. stack_gatherer_test.cc tests the stacks that come of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "tests/unit/launch/temporary_folder.h"
#include "worker_agent/launch/environment/environment.h"
#include "worker_agent/launch/slot_files.h"
#include "worker_agent/runtime/progress_reader.h"

namespace muster::agent {
namespace {

namespace fs = std::filesystem;
using ::testing::SizeIs;

// Returns 0 if the script ran to its end.
int RunPython(const std::string& environment, const std::string& script) {
  return std::system(absl::StrCat("env -u MS_PROGRESS_FILE -u MS_STACKS_FILE PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=",
                                  MUSTER_PYTHON_FOLDER, " ", environment, " python3 -c '", script, "'")
                         .c_str());
}

TEST(TrainingModule, ProgressIsWhatTheAgentReads) {
  const TemporaryFolder folder;
  ProgressReader reader(folder.path());
  reader.Watch({2, 1, 0});
  ASSERT_EQ(RunPython("MS_PROGRESS_FILE=" + ProgressFile(folder.path(), 2),
                      "import muster_training as m\nfor step in range(43): m.progress(step)"),
            0);
  const std::vector<ProgressMade> made = reader.Poll();
  ASSERT_THAT(made, SizeIs(1));
  EXPECT_EQ(made[0].step, 42u);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1) << "nothing is left beside it";
}

TEST(TrainingModule, DoesNothingOutsideOfMuster) {
  EXPECT_EQ(RunPython("", "import muster_training as m\nm.progress(1)\nassert m.enable_stacks() is False"), 0);
}

TEST(TrainingModule, NeverEndsATraining) {
  const std::string nowhere = "MS_PROGRESS_FILE=/nowhere/p MS_STACKS_FILE=/nowhere/s";
  EXPECT_EQ(RunPython(nowhere, "import muster_training as m\nm.progress(1)\nassert m.enable_stacks() is False"), 0);
  const TemporaryFolder folder;
  EXPECT_EQ(RunPython("MS_PROGRESS_FILE=" + folder.path() + "/p", "import muster_training as m\nm.progress(None)"), 0);
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(PythonFolder, StandsBesideTheProgramOrNowhere) {
  const TemporaryFolder root;
  const std::string python = root.path() + "/lib/muster/python";
  EXPECT_EQ(PythonFolder(root.path() + "/bin/ms-worker"), "");
  fs::create_directories(python);
  EXPECT_EQ(PythonFolder(root.path() + "/bin/ms-worker"), "") << "the folder alone is of no use";
  std::ofstream(python + "/muster_training.py") << "x";
  EXPECT_EQ(PythonFolder(root.path() + "/bin/ms-worker"), fs::path(python).lexically_normal());
  EXPECT_EQ(PythonFolder("ms-worker"), "");
}

}  // namespace
}  // namespace muster::agent
