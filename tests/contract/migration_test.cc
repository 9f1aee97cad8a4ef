// A journal of an older format: becomes one of today's, and is kept as it was.
#include "scheduler/journal/migration.h"

#include <gmock/gmock.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "scheduler/journal/sqlite_journal.h"
#include "tests/contract/journal_process.h"
#include "tests/contract/journal_testing.h"

namespace muster::scheduler {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

class MigrationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(WriteAndDie(path_, {"1", "2"}));  // its log is left, too
    Sql(path_, "UPDATE meta SET value='2' WHERE key='format'");
  }
  static std::string Sql(const std::string& path, const std::string& sql) {
    sqlite3* db = nullptr;
    std::string text;
    EXPECT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
    const auto take = [](void* into, int, char** values, char**) {
      *static_cast<std::string*>(into) += values[0];
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), take, &text, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
    return text;
  }
  static std::string FormatOf(const std::string& path) {
    return Sql(path, "SELECT value FROM meta WHERE key='format'");
  }
  static std::vector<std::string> Names(const std::string& path) {
    auto journal = SqliteJournal::Open(path);
    EXPECT_TRUE(journal.ok()) << journal.status();
    return journal.ok() ? ReplayedNames(**journal) : std::vector<std::string>{};
  }

  TempFolder folder_;
  const std::string path_ = folder_ / "journal.db";
  const std::string copy_ = OldJournalPath(path_, 2);
};

TEST_F(MigrationTest, KeepsWhatItWasBesideIt) {
  EXPECT_THAT(Names(path_), ElementsAre("1", "2"));
  EXPECT_EQ(FormatOf(path_), std::to_string(kJournalFormat));
  EXPECT_EQ(FormatOf(copy_), "2");
  struct stat about {};
  ASSERT_EQ(stat(copy_.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600U);
}

TEST_F(MigrationTest, TakesPlaceOnce) {
  Names(path_);
  fs::remove(copy_);
  EXPECT_THAT(Names(path_), ElementsAre("1", "2"));
  EXPECT_FALSE(fs::exists(copy_));
}

// Killed while it copied.
TEST_F(MigrationTest, BeginsAnewAfterACrash) {
  std::ofstream(copy_) << "half";
  EXPECT_THAT(Names(path_), ElementsAre("1", "2"));
  EXPECT_EQ(FormatOf(path_), std::to_string(kJournalFormat));
  EXPECT_EQ(FormatOf(copy_), "2");
}

TEST_F(MigrationTest, TheCopyIsAJournal) {
  Names(path_);
  for (const char* suffix : {"", "-wal", ".owner"}) fs::remove(path_ + suffix);
  fs::rename(copy_, path_);
  EXPECT_THAT(Names(path_), ElementsAre("1", "2"));
}

TEST_F(MigrationTest, ADamagedOneIsNotTouched) {
  Sql(path_, "DELETE FROM records WHERE sequence=1");
  EXPECT_FALSE(SqliteJournal::Open(path_).ok());
  EXPECT_EQ(FormatOf(path_), "2");
  EXPECT_FALSE(fs::exists(copy_));
}

}  // namespace
}  // namespace muster::scheduler
