// A journal of another format is refused with advice on how to go on, and stays as it is, byte for byte.
#include "scheduler/journal/journal_format.h"

#include <gmock/gmock.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "scheduler/journal/sqlite_journal.h"
#include "tests/contract/journal_process.h"
#include "tests/contract/journal_testing.h"

namespace muster::scheduler {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

class JournalFormat : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(WriteAndDie(path_, {"1", "2"}));  // this also leaves a write-ahead log
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
    sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    const std::string sql = "UPDATE meta SET value='" + std::to_string(GetParam()) + "' WHERE key='format'";
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
    ASSERT_TRUE(fs::exists(path_ + "-wal"));
  }
  // Reads each file of the folder that holds data. SQLite's shared memory holds none.
  std::map<std::string, std::string> Files() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(fs::path(path_).parent_path())) {
      if (entry.path().string() == path_ + "-shm") continue;
      std::ifstream in(entry.path(), std::ios::binary);
      files[entry.path().filename()] = {std::istreambuf_iterator<char>(in), {}};
    }
    return files;
  }

  TempFolder folder_;
  const std::string path_ = folder_ / "journal.db";
};

TEST_P(JournalFormat, IsRefusedAndLeftAsItIs) {
  const auto before = Files();
  const auto journal = SqliteJournal::Open(path_);
  EXPECT_EQ(journal.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(journal.status().message()),
              AllOf(HasSubstr(path_), HasSubstr("has format " + std::to_string(GetParam())),
                    HasSubstr("knows format " + std::to_string(kJournalFormat)), HasSubstr("--journal_path")));
  EXPECT_EQ(Files(), before);
}

INSTANTIATE_TEST_SUITE_P(Other, JournalFormat, ::testing::Values(1, 2, kJournalFormat + 1));

}  // namespace
}  // namespace muster::scheduler
