#include "worker_agent/runtime/progress_reader.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "tests/unit/launch/temporary_folder.h"
#include "worker_agent/launch/slot_files.h"

namespace muster::agent {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ProgressReaderTest : public ::testing::Test {
 protected:
  ProgressReaderTest() { reader_.Watch({0, 1, 0}); }

  std::string File(uint32_t slot = 0) const { return ProgressFile(folder_.path(), slot); }

  void Write(const std::string& text) { std::ofstream(File(), std::ios::trunc) << text; }

  // Its time of modification is this many seconds after 1970.
  void Touch(time_t seconds) {
    const timespec times[] = {{seconds, 0}, {seconds, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, File().c_str(), times, 0), 0);
  }

  // "" if nothing changed, "touch" without a number, else the number.
  std::string Poll() {
    const std::vector<ProgressMade> made = reader_.Poll();
    if (made.empty()) return "";
    EXPECT_THAT(made, SizeIs(1));
    return made[0].step ? std::to_string(*made[0].step) : "touch";
  }

  const TemporaryFolder folder_;
  ProgressReader reader_{folder_.path()};
};

TEST_F(ProgressReaderTest, EachOtherNumberIsProgress) {
  EXPECT_EQ(Poll(), "");
  Write("7");
  EXPECT_EQ(Poll(), "7");
  EXPECT_EQ(Poll(), "");
  Write("8\n");
  EXPECT_EQ(Poll(), "8");
  Write("0");  // an epoch begins
  EXPECT_EQ(Poll(), "0");
}

TEST_F(ProgressReaderTest, TheSameNumberWrittenAgainIsNone) {
  Write("7");
  EXPECT_EQ(Poll(), "7");
  Write("7");
  Touch(1000);
  EXPECT_EQ(Poll(), "");
}

TEST_F(ProgressReaderTest, AFileIsReplacedByRenaming) {
  for (const char* step : {"1", "2"}) {
    std::ofstream(folder_.path() + "/new") << step;
    fs::rename(folder_.path() + "/new", File());
    EXPECT_EQ(Poll(), step);
  }
}

TEST_F(ProgressReaderTest, AFileThatIsJustBeingWrittenIsNoStep) {
  Write("7");
  EXPECT_EQ(Poll(), "7");
  Write("");
  EXPECT_EQ(Poll(), "");
  Write("8");
  EXPECT_EQ(Poll(), "8");
}

TEST_F(ProgressReaderTest, ATouchCountsWhereThereIsNoNumber) {
  Write("");
  Touch(1000);
  EXPECT_EQ(Poll(), "touch");
  EXPECT_EQ(Poll(), "");
  Touch(1001);
  EXPECT_EQ(Poll(), "touch");
  Touch(500);  // no matter what the clock did
  EXPECT_EQ(Poll(), "touch");
  Write("3");
  EXPECT_EQ(Poll(), "3");
  Write("");
  Touch(2000);
  EXPECT_EQ(Poll(), "");
}

struct TextCase {
  const char* name;
  std::string text;
  std::string expected;
};

class ProgressTexts : public ProgressReaderTest, public ::testing::WithParamInterface<TextCase> {};

TEST_P(ProgressTexts, AreParsedAsFarAsTheyAreNumbers) {
  Write(GetParam().text);
  EXPECT_EQ(Poll(), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(Reader, ProgressTexts,
                         ::testing::Values(TextCase{"LeadingSpace", "  42\n", "42"},
                                           TextCase{"DigitsThenText", "42 of 100", "42"},
                                           TextCase{"Fraction", "42.5", "42"}, TextCase{"Negative", "-1", "touch"},
                                           TextCase{"Word", "step 42", "touch"},
                                           TextCase{"Binary", std::string("\0\xff\x01", 3), "touch"},
                                           TextCase{"Largest", std::to_string(std::numeric_limits<uint64_t>::max()),
                                                    std::to_string(std::numeric_limits<uint64_t>::max())},
                                           TextCase{"TooLarge", "18446744073709551616", "touch"},
                                           TextCase{"ManyDigits", std::string(4096, '9'), "touch"},
                                           TextCase{"SpaceWithoutEnd", std::string(4096, ' ') + "5", "touch"},
                                           TextCase{"NumberAndMuchText", "5\n" + std::string(4096, 'x'), "5"}),
                         [](const auto& case_info) { return case_info.param.name; });

// ------------------------------------------------------------- what a process may put there: never blocks, never
// counts

TEST_F(ProgressReaderTest, APipeIsNotRead) {
  ASSERT_EQ(mkfifo(File().c_str(), 0600), 0);
  EXPECT_EQ(Poll(), "");
  const int writer = open(File().c_str(), O_RDWR | O_NONBLOCK);
  ASSERT_EQ(write(writer, "5", 1), 1);
  EXPECT_EQ(Poll(), "");
  close(writer);
}

TEST_F(ProgressReaderTest, AFolderIsNoFile) {
  fs::create_directory(File());
  EXPECT_EQ(Poll(), "");
}

TEST_F(ProgressReaderTest, ALinkIsNotFollowed) {
  std::ofstream(folder_.path() + "/elsewhere") << "5";
  fs::create_symlink(folder_.path() + "/elsewhere", File());
  EXPECT_EQ(Poll(), "");
  fs::remove(File());
  fs::create_symlink("/dev/zero", File());
  EXPECT_EQ(Poll(), "");
}

TEST_F(ProgressReaderTest, AHugeFileIsReadOnlyAtItsBeginning) {
  Write("5 ");
  ASSERT_EQ(truncate(File().c_str(), off_t{1} << 40), 0);
  EXPECT_EQ(Poll(), "5");
}

TEST_F(ProgressReaderTest, AFileThatMayNotBeReadIsNone) {
  Write("5");
  fs::permissions(File(), fs::perms::none);
  if (access(File().c_str(), R_OK) == 0) {  // root may read all: ask as another user
    fs::permissions(folder_.path(), fs::perms::all);
    const pid_t pid = fork();
    if (pid == 0) _exit(setuid(65534) == 0 && Poll().empty() ? 0 : 1);
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
    return;
  }
  EXPECT_EQ(Poll(), "");
}

// ------------------------------------------------------------------------------------------------- several processes

TEST_F(ProgressReaderTest, EachProcessHasItsFile) {
  reader_.Watch({2, 1, 5});
  Write("7");
  std::ofstream(File(2)) << "9";
  const std::vector<ProgressMade> made = reader_.Poll();
  ASSERT_THAT(made, SizeIs(2));
  EXPECT_EQ(made[1].key, (ProcessKey{2, 1, 5}));
  EXPECT_EQ(made[1].step, 9u);
}

TEST_F(ProgressReaderTest, AnEndedProcessIsNotReadAndItsSuccessorBeginsAgain) {
  Write("7");
  EXPECT_EQ(Poll(), "7");
  reader_.Forget({0, 1, 0});
  EXPECT_TRUE(reader_.IsIdle());
  Write("8");
  EXPECT_EQ(Poll(), "");
  reader_.Watch({0, 2, 0});
  Write("7");
  EXPECT_EQ(Poll(), "7");
}

TEST(SlotFiles, AreRemovedWhateverTheyAre) {
  const TemporaryFolder folder;
  const TemporaryFolder elsewhere;
  std::ofstream(elsewhere.path() + "/kept") << "x";
  fs::create_directory(ProgressFile(folder.path(), 0));
  std::ofstream(ProgressFile(folder.path(), 0) + "/in_it") << "x";
  fs::create_symlink(elsewhere.path(), StacksFile(folder.path(), 0));
  std::ofstream(ProgressFile(folder.path(), 1)) << "7";
  RemoveProgressAndStacks(folder.path(), 0);
  EXPECT_FALSE(fs::exists(fs::symlink_status(ProgressFile(folder.path(), 0))));
  EXPECT_FALSE(fs::exists(fs::symlink_status(StacksFile(folder.path(), 0))));
  EXPECT_TRUE(fs::exists(elsewhere.path() + "/kept"));
  EXPECT_TRUE(fs::exists(ProgressFile(folder.path(), 1)));
}

}  // namespace
}  // namespace muster::agent
