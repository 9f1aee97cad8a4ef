// Tests which journals SqliteJournal::Open refuses, and the messages.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include <csignal>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "scheduler/core/core.h"
#include "scheduler/journal/network_fs.h"
#include "scheduler/journal/owner_note.h"
#include "scheduler/journal/sqlite_journal.h"
#include "tests/contract/journal_process.h"
#include "tests/contract/journal_testing.h"

namespace muster::scheduler {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SqliteRefusal : public ::testing::Test {
 protected:
  // The message of the refusal, "<code>: <message>".
  static std::string Refusal(const std::string& path) {
    const auto journal = SqliteJournal::Open(path);
    return journal.ok() ? "opened" : journal.status().ToString();
  }
  static void Change(const std::string& path, const std::string& sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }
  std::vector<std::string> Names() {
    auto journal = SqliteJournal::Open(path_);
    EXPECT_TRUE(journal.ok()) << journal.status();
    return journal.ok() ? ReplayedNames(**journal) : std::vector<std::string>{};
  }

  TempFolder folder_;
  const std::string path_ = folder_ / "journal.db";
};

TEST_F(SqliteRefusal, ANewerFormat) {
  ASSERT_TRUE(WriteAndDie(path_, {"1"}));
  Change(path_, "UPDATE meta SET value='4' WHERE key='format'; CREATE TABLE more(x)");
  EXPECT_THAT(Refusal(path_), AllOf(HasSubstr("FAILED_PRECONDITION"), HasSubstr(path_), HasSubstr("format 4"),
                                    HasSubstr("newer ms-scheduler"), HasSubstr("--journal_path")));
}

// This version would ignore the unknown field, but a newer version may have based a decision on it.
TEST_F(SqliteRefusal, ARecordForNewerReaders) {
  {
    auto journal = SqliteJournal::Open(path_);
    ASSERT_TRUE(journal.ok());
    DurableWatch watch;
    watch.Attach(**journal);
    v1::Record record = RecordOf("1");
    record.set_least_reader(kJournalReader + 1);
    (*journal)->Append({record});
    ASSERT_TRUE(watch.WaitFor(1));
    (*journal)->SetOnDurable(nullptr);
  }
  EXPECT_THAT(Refusal(path_), AllOf(HasSubstr("FAILED_PRECONDITION"), HasSubstr("record 1"), HasSubstr("version 1"),
                                    HasSubstr("use the newer ms-scheduler")));
}

TEST_F(SqliteRefusal, AnotherProgramsDatabase) {
  Change(path_, "CREATE TABLE songs(name)");
  EXPECT_THAT(Refusal(path_), AllOf(HasSubstr("DATA_LOSS"), HasSubstr("not those of a journal of ms-scheduler")));
}

TEST_F(SqliteRefusal, AFileThatIsNoDatabase) {
  std::ofstream(path_) << std::string(10'000, 'x');
  EXPECT_THAT(Refusal(path_), AllOf(HasSubstr("DATA_LOSS"), HasSubstr("not a database"), HasSubstr("good copy")));
}

TEST_F(SqliteRefusal, WrongContent) {
  const struct {
    const char* name;
    const char* sql;
    const char* words;
  } cases[] = {
      {"a gap", "DELETE FROM records WHERE sequence=2", "record 2 is missing"},
      {"the first is gone", "DELETE FROM records WHERE sequence=1", "record 1 is missing"},
      {"another body", "UPDATE records SET body=(SELECT body FROM records WHERE sequence=1) WHERE sequence=3",
       "the checksum of record 3 is wrong"},
      {"no bytes", "UPDATE records SET body=x'' WHERE sequence=3", "the checksum of record 3 is wrong"},
      {"text for a checksum", "UPDATE records SET checksum='x' WHERE sequence=3", "checksum of record 3 is wrong"},
      {"the last is gone", "DELETE FROM records WHERE sequence=3", "record 3 was acknowledged"},
      {"a snapshot from nowhere", "INSERT INTO snapshots VALUES(3, 1, x'00')", "the snapshot through 3 is wrong"},
      {"an index more", "CREATE INDEX i ON records(body)", "not those of a journal"},
      {"no format", "DELETE FROM meta", "not those of a journal"},
  };
  ASSERT_TRUE(WriteAndDie(path_, {"1", "2", "3"}));
  Change(path_, "PRAGMA wal_checkpoint(TRUNCATE)");
  for (const auto& test : cases) {
    const std::string copy = folder_ / absl::StrCat(test.name, ".db");
    fs::copy_file(path_, copy);
    fs::copy_file(path_ + ".owner", copy + ".owner");
    Change(copy, test.sql);
    EXPECT_THAT(Refusal(copy), AllOf(HasSubstr("DATA_LOSS"), HasSubstr(copy), HasSubstr(test.words))) << test.name;
  }
}

TEST_F(SqliteRefusal, ABodyThatIsNoRecord) {
  ASSERT_TRUE(WriteAndDie(path_, {"1"}));
  // The checksum, SHA-256 over 2 (8 bytes) and nothing, is right, but an empty record is not one that this version
  // knows.
  Change(path_, "INSERT INTO records VALUES(2, -3673630572458483603, x'')");
  EXPECT_THAT(Refusal(path_),
              AllOf(HasSubstr("DATA_LOSS"), HasSubstr("record 2 has a kind that ms-scheduler does not know")));
}

TEST_F(SqliteRefusal, ACopyThatIsTooOld) {
  ASSERT_TRUE(WriteAndDie(path_, {"1", "2"}));
  for (const char* suffix : {"", "-wal"}) fs::copy_file(path_ + suffix, folder_ / ("copy" + std::string(suffix)));
  ASSERT_TRUE(WriteAndDie(path_, {"3", "4"}));
  fs::remove(path_ + "-wal");
  for (const char* suffix : {"", "-wal"}) {
    fs::copy_file(folder_ / ("copy" + std::string(suffix)), path_ + suffix, fs::copy_options::overwrite_existing);
  }
  EXPECT_THAT(Refusal(path_), AllOf(HasSubstr("ends with record 2"), HasSubstr("record 4 was acknowledged"),
                                    HasSubstr("delete " + path_ + ".owner")));
  fs::remove(path_ + ".owner");  // as the message advises
  EXPECT_THAT(Names(), ElementsAre("1", "2"));
}

TEST_F(SqliteRefusal, AWriteAheadLogWithoutItsJournal) {
  ASSERT_TRUE(WriteAndDie(path_, {"1"}));
  fs::rename(path_, folder_ / "aside");
  EXPECT_THAT(Refusal(path_), HasSubstr("it is missing, but its write-ahead log"));
  std::ofstream(path_).close();
  EXPECT_THAT(Refusal(path_), HasSubstr("it is empty, but its write-ahead log"));
  fs::remove(path_ + "-wal");
  EXPECT_THAT(Refusal(path_), HasSubstr("it is empty, but record 1 was acknowledged"));
  fs::remove(path_);
  EXPECT_THAT(Names(), IsEmpty()) << "moved away on purpose: a new one begins";
}

TEST_F(SqliteRefusal, OneThatAnotherProcessHolds) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t holder = fork();
  if (holder == 0) {
    auto journal = SqliteJournal::Open(path_);
    if (write(ready[1], journal.ok() ? "y" : "n", 1) == 1) pause();
    _exit(0);
  }
  char answer = 0;
  ASSERT_EQ(read(ready[0], &answer, 1), 1);
  ASSERT_EQ(answer, 'y');
  EXPECT_THAT(Refusal(path_), AllOf(HasSubstr("FAILED_PRECONDITION"), HasSubstr("held by another process"),
                                    HasSubstr(absl::StrCat("pid ", holder)), HasSubstr("--journal_path")));
  kill(holder, SIGKILL);
  waitpid(holder, nullptr, 0);
  EXPECT_EQ(Refusal(path_), "opened");
}

TEST_F(SqliteRefusal, OneThatThisProcessHolds) {
  const auto journal = SqliteJournal::Open(path_);
  ASSERT_TRUE(journal.ok());
  EXPECT_THAT(Refusal(path_), HasSubstr("held by another process"));
}

TEST_F(SqliteRefusal, PlacesWhereNoFileCanBe) {
  std::ofstream(folder_ / "file") << "x";
  fs::create_directory(folder_ / "folder");
  EXPECT_THAT(Refusal(folder_ / "file/journal.db"), AllOf(HasSubstr("PERMISSION_DENIED"), HasSubstr("--journal_path")));
  EXPECT_THAT(Refusal(folder_ / "folder"), HasSubstr("no file but a folder"));
  EXPECT_THAT(Refusal("/proc/muster/journal.db"), AllOf(HasSubstr("PERMISSION_DENIED"), HasSubstr("can't be made")));
}

// Another user with write access to the folder could have put it there. A link would have Open overwrite a file
// elsewhere; a pipe would block the start until the other end opens.
TEST_F(SqliteRefusal, ALinkOrAPipeInThePlaceOfOneOfItsFiles) {
  const std::string victim = folder_ / "victim";
  for (const char* suffix : {"", "-wal", "-shm", "-journal", ".owner"}) {
    const std::string file = path_ + suffix;
    std::ofstream(victim) << "first line\nsecond line\n";
    fs::create_symlink(victim, file);
    EXPECT_THAT(Refusal(path_), AllOf(HasSubstr(file + " is a symbolic link and is not followed"),
                                      HasSubstr(*suffix == '\0' ? "--journal_path" : "remove it")));
    fs::remove(file);
    fs::create_symlink(folder_ / "nothing", file);
    EXPECT_THAT(Refusal(path_), HasSubstr(file + " is a symbolic link"));
    EXPECT_FALSE(fs::exists(folder_ / "nothing"));
    fs::remove(file);
    fs::create_hard_link(victim, file);
    EXPECT_THAT(Refusal(path_), HasSubstr(file + " has another name elsewhere"));
    fs::remove(file);
    ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
    EXPECT_THAT(Refusal(path_), HasSubstr(file + " is no file but a folder, a pipe or a device"));
    fs::remove(file);
    std::string kept;
    std::getline(std::ifstream(victim), kept, '\0');
    EXPECT_EQ(kept, "first line\nsecond line\n");
  }
  EXPECT_THAT(Names(), IsEmpty());
}

// The message of a refusal comes from the owner's note of a journal that is held. The note is read with the same care.
TEST(OwnerNote, IsNotReadThroughALinkOrAPipe) {
  TempFolder folder;
  const std::string path = folder / "journal.db";
  std::ofstream(folder / "secret") << "user\npassword\n";
  fs::create_symlink(folder / "secret", OwnerNotePath(path));
  EXPECT_EQ(HolderOf(path), "");
  EXPECT_THAT(ReadOwnerNote(path).status().ToString(), AllOf(HasSubstr("symbolic link"), HasSubstr("remove it")));
  EXPECT_THAT(OwnerNote::Write(path, "id", 1).status().ToString(), HasSubstr("symbolic link"));
  fs::remove(OwnerNotePath(path));
  ASSERT_EQ(mkfifo(OwnerNotePath(path).c_str(), 0600), 0);
  EXPECT_EQ(HolderOf(path), "");
  EXPECT_THAT(ReadOwnerNote(path).status().ToString(), HasSubstr("not a regular file"));
  fs::remove(OwnerNotePath(path));
  EXPECT_TRUE(ReadOwnerNote(path).ok()) << "none is no error";
}

TEST(NetworkFs, IsKnownByItsMagicNumber) {
  EXPECT_EQ(NetworkFileSystemOf(0x6969), "NFS");
  EXPECT_EQ(NetworkFileSystemOf(0xFF534D42), "CIFS");
  EXPECT_EQ(NetworkFileSystemOf(0xFFFFFFFFFF534D42), "CIFS") << "sign-extended";
  EXPECT_EQ(NetworkFileSystemOf(0xFE534D42), "SMB2");
  EXPECT_EQ(NetworkFileSystemOf(0x0BD00BD0), "Lustre");
  EXPECT_EQ(NetworkFileSystemOf(0x47504653), "GPFS");
  EXPECT_EQ(NetworkFileSystemOf(0x00C36400), "Ceph");
  EXPECT_EQ(NetworkFileSystemOf(0x01021997), "9P");
  EXPECT_EQ(NetworkFileSystemOf(0x5346414F), "AFS");
  EXPECT_EQ(NetworkFileSystemOf(0x19830326), "BeeGFS");
  for (const uint64_t local : {0xEF53, 0x58465342, 0x01021994, 0x794C7630, 0x65735546}) {  // ext4, xfs, tmpfs, overlay
    EXPECT_EQ(NetworkFileSystemOf(local), "") << std::hex << local;
  }
}

TEST(NetworkFs, BelowFuseIsKnownByItsMount) {
  const std::string mounts =
      "24 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
      "36 24 0:51 / /data rw,nosuid shared:1 - fuse.glusterfs gluster:/vol rw\n"
      "37 24 0:52 / /home rw - fuse.fuse-overlayfs x rw\n";
  EXPECT_EQ(NetworkFileSystemIn(mounts, makedev(0, 51)), "fuse.glusterfs");
  EXPECT_EQ(NetworkFileSystemIn(mounts, makedev(0, 52)), "");
  EXPECT_EQ(NetworkFileSystemIn(mounts, makedev(254, 0)), "");
  EXPECT_EQ(NetworkFileSystemIn("nonsense - \n - ", makedev(254, 0)), "");
}

TEST(NetworkFs, ThisMachinesTemporaryFolderIsLocal) { EXPECT_EQ(NetworkFileSystemUnder("/tmp"), ""); }

}  // namespace
}  // namespace muster::scheduler
