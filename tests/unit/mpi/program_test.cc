#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "worker_agent/launch/command/mpi_program.h"

namespace muster::agent {
namespace {

class MpiProgramTest : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    std::string path = testing::TempDir() + "/" + name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
};

TEST_F(MpiProgramTest, LibrariesOfAProgramAreRead) {
  EXPECT_THAT(NeededLibraries("/bin/sh"), testing::Contains("libc.so.6"));
  EXPECT_THAT(NeededLibraries("/proc/self/exe"), testing::Contains("libc.so.6"));
  EXPECT_THAT(NeededLibraries("/nowhere"), testing::IsEmpty());
  EXPECT_THAT(NeededLibraries("/dev/zero"), testing::IsEmpty());
  EXPECT_THAT(NeededLibraries("/etc"), testing::IsEmpty());
}

TEST_F(MpiProgramTest, DamagedProgramsHaveNone) {
  std::ifstream file("/bin/sh", std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(file)), {});
  for (size_t i = 0; i < 400; ++i) {
    std::string damaged = whole.substr(0, 4096);
    damaged[16 + i % 300] = static_cast<char>(i * 37);
    EXPECT_LE(NeededLibraries(Write("damaged", damaged)).size(), 256u);
  }
}

TEST_F(MpiProgramTest, PythonIsOneIfItImportsMpi4py) {
  const std::string path = "/usr/bin";
  const auto family = [&](const std::vector<std::string>& command) { return MpiFamilyOf(command, &path); };
  EXPECT_EQ(family({"python3", Write("with.py", "import os\nfrom mpi4py import MPI\n")}), MpiFamily::kEither);
  EXPECT_EQ(family({"/usr/bin/python3", Write("whole.py", "import mpi4py\n")}), MpiFamily::kEither);
  EXPECT_EQ(family({"python3", "-m", "mpi4py", "x.py"}), MpiFamily::kEither);
  EXPECT_EQ(family({"python3", "-m", "mpi4py.futures", "x.py"}), MpiFamily::kEither);
  EXPECT_EQ(family({"python3", Write("maybe.py", "try:\n  from mpi4py import MPI\nexcept ImportError: pass\n")}),
            MpiFamily::kNone);
  EXPECT_EQ(family({"python3", Write("without.py", "print(1)  # mpi4py\n")}), MpiFamily::kNone);
  EXPECT_EQ(family({"python3", "/nowhere.py"}), MpiFamily::kNone);
  EXPECT_EQ(family({"python3"}), MpiFamily::kNone);
}

TEST_F(MpiProgramTest, OthersAreNone) {
  const std::string path = "/usr/bin:/bin";
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{}, {"sh"}, {"/bin/sh"}, {"nowhere"}, {"mpirun", "x"}, {""}}) {
    EXPECT_EQ(MpiFamilyOf(command, &path), MpiFamily::kNone);
    EXPECT_EQ(MpiFamilyOf(command, nullptr), MpiFamily::kNone);
  }
}

}  // namespace
}  // namespace muster::agent
