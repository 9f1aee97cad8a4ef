// Tests which folders and files root trusts for its journal. Only root can give files away, so the tests skip for other
// users.
#include "scheduler/journal/journal_folder.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/contract/journal_testing.h"

namespace muster::scheduler {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uid_t kRoot = 0;
constexpr uid_t kOther = 12345;

class JournalFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
    ASSERT_TRUE(fs::create_directory(state_));
    SetMode(state_, 0700);
  }
  static void SetMode(const std::string& path, mode_t mode) { ASSERT_EQ(chmod(path.c_str(), mode), 0) << path; }
  static void GiveAway(const std::string& path) {
    ASSERT_EQ(lchown(path.c_str(), kOther, static_cast<gid_t>(-1)), 0) << path;
  }
  static std::string Refusal(const std::string& path, uid_t self = kRoot) {
    const absl::Status status = PrepareJournalFile(path, self);
    return status.ok() ? "taken" : status.ToString();
  }

  TempFolder folder_;
  const std::string state_ = folder_ / "state";
  const std::string path_ = state_ + "/journal.db";
};

TEST_F(JournalFolder, RootsOwnIsTaken) {
  EXPECT_EQ(Refusal(path_), "taken");
  EXPECT_EQ(Refusal(path_), "taken") << "again, with its files";
}

TEST_F(JournalFolder, OneOfAnotherUserIsNotBelieved) {
  GiveAway(state_);
  EXPECT_THAT(Refusal(path_), AllOf(HasSubstr("PERMISSION_DENIED"), HasSubstr(path_), HasSubstr("uid 12345"),
                                    HasSubstr("as that user"), HasSubstr("--journal_path")));
  EXPECT_FALSE(fs::exists(path_)) << "nothing is left there";
}

TEST_F(JournalFolder, OneThatOthersCanWriteToIsNotBelieved) {
  for (const mode_t mode : {0770, 0702, 02775}) {
    SetMode(state_, mode);
    EXPECT_THAT(Refusal(path_),
                AllOf(HasSubstr("others can write"), HasSubstr("chmod go-w " + state_), HasSubstr("--journal_path")));
  }
}

// Others could not remove the journal there, but could add a write-ahead log that SQLite would trust.
TEST_F(JournalFolder, AStickyOneIsNotBelievedAFolderInItIs) {
  SetMode(state_, 01777);
  EXPECT_THAT(Refusal(path_), AllOf(HasSubstr("others can write"), Not(HasSubstr("chmod")), HasSubstr("made private")));
  EXPECT_EQ(Refusal(state_ + "/new/journal.db"), "taken");
}

// systemd makes /var/lib/muster a link to /var/lib/private/muster for a DynamicUser.
TEST_F(JournalFolder, ALinkOfRootsLeadsOnOneOfAnotherUserDoesNot) {
  const std::string link = folder_ / "link";
  fs::create_directory_symlink(state_, link);
  EXPECT_EQ(Refusal(link + "/journal.db"), "taken");
  GiveAway(link);
  EXPECT_THAT(Refusal(link + "/journal.db"), AllOf(HasSubstr("symbolic link"), HasSubstr("uid 12345")));
}

// The folder's owner can replace what root made in it.
TEST_F(JournalFolder, OneInAFolderOfAnotherUserIsNotBelieved) {
  const std::string theirs = folder_ / "theirs";
  ASSERT_TRUE(fs::create_directory(theirs));
  GiveAway(theirs);
  EXPECT_THAT(Refusal(theirs + "/state/journal.db"), AllOf(HasSubstr(theirs), HasSubstr("uid 12345")));
  EXPECT_FALSE(fs::exists(theirs + "/state")) << "it is judged before anything is made";
  const std::string link = theirs + "/link";
  fs::create_directory_symlink(state_, link);
  GiveAway(link);
  EXPECT_THAT(Refusal(link + "/made/by/journal.db"), HasSubstr("uid 12345"));
  EXPECT_FALSE(fs::exists(state_ + "/made"));
}

TEST_F(JournalFolder, ANameThatIsTooLongIsSaid) {
  EXPECT_THAT(Refusal(state_ + "/" + std::string(300, 'x') + "/journal.db"), HasSubstr("too long"));
}

TEST_F(JournalFolder, AFolderBehindALinkIsLookedAt) {
  const std::string link = folder_ / "link";
  fs::create_directory_symlink(state_, link);
  GiveAway(state_);
  EXPECT_THAT(Refusal(link + "/journal.db"), HasSubstr("uid 12345"));
}

TEST_F(JournalFolder, FilesInItThatOthersWroteAreNotBelieved) {
  for (const char* suffix : {"", "-wal", "-shm", "-journal", ".owner"}) {
    const std::string file = path_ + suffix;
    ASSERT_EQ(Refusal(path_), "taken");
    std::ofstream(file, std::ios::app).close();
    SetMode(file, 0620);
    EXPECT_THAT(Refusal(path_), HasSubstr("others can write to " + file));
    SetMode(file, 0600);
    EXPECT_EQ(Refusal(path_), "taken");
    GiveAway(file);
    EXPECT_THAT(Refusal(path_), AllOf(HasSubstr(file + " belongs to another user"), HasSubstr("chown root " + file)));
    fs::remove(file);
  }
}

// A pod's volume belongs to root and is open to all. A user other than root may share the folder with others.
TEST_F(JournalFolder, ANonRootUserDecidesForThemselves) {
  SetMode(state_, 0777);
  EXPECT_EQ(Refusal(path_, kOther), "taken");
  GiveAway(state_);
  EXPECT_EQ(Refusal(path_, kOther), "taken");
}

}  // namespace
}  // namespace muster::scheduler
