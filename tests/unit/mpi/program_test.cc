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
  EXPECT_EQ(family({"python3", Write("two.py", "import os, mpi4py\n")}), MpiFamily::kEither);
  EXPECT_EQ(family({"python3", Write("main.py", "if x:\n  y\ndef main():\n    from mpi4py import MPI\n")}),
            MpiFamily::kEither);
  EXPECT_EQ(family({"python3", Write("last.py", "if __name__ == '__main__':\n    import mpi4py.MPI\n")}),
            MpiFamily::kEither);
  EXPECT_EQ(family({"python3", Write("asked.py", "def main():\n  if x:\n    from mpi4py import MPI\n")}),
            MpiFamily::kNone);
  EXPECT_EQ(family({"python3", Write("other.py", "import mpi4pyx\nfrom x import mpi4py_y\n")}), MpiFamily::kNone);
  EXPECT_EQ(family({"python3", Write("without.py", "print(1)  # mpi4py\n")}), MpiFamily::kNone);
  EXPECT_EQ(family({"python3", "/nowhere.py"}), MpiFamily::kNone);
  EXPECT_EQ(family({"python3"}), MpiFamily::kNone);
}

TEST_F(MpiProgramTest, WrappersAreLookedBehind) {
  const std::string path = "/usr/bin:/bin";
  const std::string program = Write("wrapped.py", "import mpi4py\n");
  const std::string exec = "set -e\nexec python3 " + program + " \"$@\"\n";
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"env", "A=1", "python3", program},
                                             {"taskset", "3", "python3", program},
                                             {"taskset", "-c", "0-3", "python3", program},
                                             {"numactl", "-N", "0", "--membind", "0", "python3", program},
                                             {"numactl", "--cpunodebind=0", "python3", program},
                                             {"nice", "-n", "5", "timeout", "9", "python3", program},
                                             {"bash", "-c", "exec python3 " + program},
                                             {"bash", "-c", "python3 '" + program + "'; true"},
                                             {"bash", Write("named.sh", exec)},
                                             {"uv", "run", program},
                                             {"bash", Write("within.sh", "mkdir -p x\npython3 " + program + "\n")},
                                             {"bash", Write("late.sh", "mpirun x\nexec python3 " + program + "\n")},
                                             {Write("script.sh", "#!/usr/bin/env bash\n" + exec)},
                                             {"env", "A=1", Write("script2.sh", "#!/bin/sh -e\n" + exec)}}) {
    EXPECT_EQ(MpiFamilyOf(command, &path), MpiFamily::kEither) << command[0] << " " << command.back();
  }
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"env"},
                                             {"taskset", "3"},
                                             {"bash", Write("mpirun.sh", "exec mpirun python3 " + program + "\n")},
                                             {"bash", Write("calls.sh", "mpirun x\npython3 " + program + "\n")},
                                             {"bash", Write("other.sh", "python3 " + program + "\nexec true\n")},
                                             {Write("plain.sh", exec)},
                                             {Write("empty.sh", "#!/bin/sh\nexec \n")},
                                             {Write("perl.sh", "#!/usr/bin/perl\n" + exec)}}) {
    EXPECT_EQ(MpiFamilyOf(command, &path), MpiFamily::kNone) << command[0] << " " << command.back();
  }
}

TEST_F(MpiProgramTest, LibrariesHaveAFamily) {
  EXPECT_EQ(FamilyOfLibrary("libmpi.so.40.30.4"), MpiFamily::kPmix);
  EXPECT_EQ(FamilyOfLibrary("libmpi.so.12"), MpiFamily::kPmi1);
  EXPECT_EQ(FamilyOfLibrary("libmpich.so.12.2.1"), MpiFamily::kPmi1);
  EXPECT_EQ(FamilyOfLibrary("libc.so.6"), MpiFamily::kNone);
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
