#include "scheduler/journal/sqlite_journal.h"

#include <gmock/gmock.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "common/base/mutex.h"
#include "tests/contract/journal_contract.h"
#include "tests/contract/journal_testing.h"

namespace muster::scheduler {
namespace {

using ::testing::ElementsAre;

class SqliteHome : public JournalHome {
 public:
  std::unique_ptr<Journal> Open() override {
    auto journal = SqliteJournal::Open(folder_ / "journal.db");
    EXPECT_TRUE(journal.ok()) << journal.status();
    return *std::move(journal);
  }

 private:
  TempFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(Sqlite, JournalContract,
                         ::testing::Values(JournalFactory{"sqlite", [] { return std::make_unique<SqliteHome>(); }}),
                         [](const auto& tested) { return tested.param.name; });

class SqliteJournalTest : public ::testing::Test {
 protected:
  std::unique_ptr<SqliteJournal> Open() {
    auto journal = SqliteJournal::Open(path_);
    EXPECT_TRUE(journal.ok()) << journal.status();
    return journal.ok() ? *std::move(journal) : nullptr;
  }
  uint64_t SizeOf(const std::string& suffix) {
    struct stat about {};
    return stat((path_ + suffix).c_str(), &about) == 0 ? static_cast<uint64_t>(about.st_size) : 0;
  }

  TempFolder folder_;
  const std::string path_ = folder_ / "new/folders/journal.db";
};

TEST_F(SqliteJournalTest, FilesAreTheOwnersAlone) {
  const auto journal = Open();
  for (const auto& [path, mode] : {std::pair{folder_ / "new", 0700u}, std::pair{path_, 0600u},
                                   std::pair{path_ + "-wal", 0600u}, std::pair{path_ + ".owner", 0600u}}) {
    struct stat about {};
    ASSERT_EQ(stat(path.c_str(), &about), 0) << path;
    EXPECT_EQ(about.st_mode & 0777, mode) << path;
  }
  struct stat about {};
  EXPECT_NE(stat((path_ + "-shm").c_str(), &about), 0) << "no shared memory: one process holds it";
}

TEST_F(SqliteJournalTest, ClosingCommitsWhatIsQueued) {
  auto journal = Open();
  for (int i = 0; i < 1'000; ++i) journal->Append({RecordOf(std::to_string(i))});
  journal.reset();
  const std::vector<std::string> names = ReplayedNames(*Open());
  ASSERT_EQ(names.size(), 1'000u);
  EXPECT_EQ(names.back(), "999");
}

TEST_F(SqliteJournalTest, WhatFollowsABatchIsDurableWithoutAnotherAppend) {
  auto journal = Open();
  Mutex mutex;
  CondVar reported;
  uint64_t durable = 0;
  journal->SetOnDurable([&](uint64_t sequence) {
    MutexLock lock(mutex);
    durable = sequence;
    reported.NotifyAll();
  });
  const auto await = [&](uint64_t sequence) {
    MutexLock lock(mutex);
    while (durable < sequence) reported.Wait(mutex);
  };
  await(journal->Append({RecordOf("a"), RecordOf("b")}));
  await(journal->Append({RecordOf("c")}));  // after it has gathered records
  journal->Append({RecordOf("d"), RecordOf("e")});
  journal->Append({RecordOf("f")});
  journal.reset();  // while it gathers records
  EXPECT_THAT(ReplayedNames(*Open()), ElementsAre("a", "b", "c", "d", "e", "f"));
}

TEST_F(SqliteJournalTest, WantsASnapshotWhenTheRecordsOutgrowFourMebibytesAndFourSnapshots) {
  const std::string kilobyte(1'000, 'x');
  const std::vector<v1::Record> megabyte(1'000, RecordOf(kilobyte));
  auto journal = Open();
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(journal->WantsSnapshot()) << i << " MB";
    journal->Append(megabyte);
  }
  journal->Append(megabyte);
  EXPECT_TRUE(journal->WantsSnapshot());
  journal->AppendSnapshot(SnapshotOf(std::string(2'000'000, 's')));
  EXPECT_FALSE(journal->WantsSnapshot());
  for (int i = 0; i < 6; ++i) journal->Append(megabyte);
  EXPECT_FALSE(journal->WantsSnapshot()) << "6 MB are less than four times 2 MB";
  journal.reset();

  journal = Open();
  EXPECT_FALSE(journal->WantsSnapshot());
  EXPECT_EQ(ReplayedNames(*journal).size(), 6'001u);
  journal->Append(megabyte);
  journal->Append(megabyte);
  EXPECT_TRUE(journal->WantsSnapshot()) << "what the life before wrote counts";
}

TEST_F(SqliteJournalTest, ASnapshotThatComesLaterIsMadeByTheThreadThatWrites) {
  auto journal = Open();
  DurableWatch watch;
  watch.Attach(*journal);
  ASSERT_TRUE(watch.WaitFor(journal->Append({RecordOf("1")})));
  std::thread::id maker;
  int made = 0;
  journal->AppendSnapshot(JournalSnapshot(
      [&] {
        maker = std::this_thread::get_id();
        ++made;
        return SnapshotOf("later");
      },
      1 << 30));
  EXPECT_FALSE(journal->WantsSnapshot());
  ASSERT_TRUE(watch.WaitFor(journal->Append({RecordOf("2")})));
  EXPECT_EQ(made, 1);
  EXPECT_TRUE(maker != std::this_thread::get_id());
  journal.reset();
  EXPECT_THAT(ReplayedNames(*Open()), ElementsAre("snapshot later", "2"));
}

TEST_F(SqliteJournalTest, SnapshotsAndTheShortLogBoundTheFiles) {
  const std::vector<v1::Record> batch(100, RecordOf(std::string(1'000, 'x')));
  auto journal = Open();
  DurableWatch watch;
  watch.Attach(*journal);
  uint64_t largest_log = 0;
  for (int i = 0; i < 500; ++i) {  // 50 MB in all
    ASSERT_TRUE(watch.WaitFor(journal->Append(batch)));
    if (journal->WantsSnapshot()) journal->AppendSnapshot(SnapshotOf("all"));
    largest_log = std::max(largest_log, SizeOf("-wal"));
  }
  EXPECT_LT(largest_log, 8u << 20);
  EXPECT_LT(SizeOf(""), 12u << 20);
  journal.reset();
  EXPECT_EQ(SizeOf("-wal"), 0u) << "a clean end leaves one file";
  EXPECT_LT(ReplayedNames(*Open()).size(), 6'000u);
}

TEST_F(SqliteJournalTest, TheFormatIsWhatTheManualSays) {
  auto journal = Open();
  journal->Append({RecordOf("1")});
  journal.reset();
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
  std::vector<std::string> cells;
  const auto collect = [](void* out, int count, char** values, char**) {
    for (int i = 0; i < count; ++i) static_cast<std::vector<std::string>*>(out)->push_back(values[i]);
    return 0;
  };
  // The first 8 bytes of SHA-256 over 00 00 00 00 00 00 00 01 and the body.
  const char* sql =
      "SELECT value FROM meta WHERE key='format'; SELECT sequence, checksum, hex(body) FROM records; "
      "SELECT count(*) FROM snapshots";
  EXPECT_EQ(sqlite3_exec(db, sql, collect, &cells, nullptr), SQLITE_OK);
  sqlite3_close(db);
  EXPECT_THAT(cells, ElementsAre("3", "1", "-4413411261728744412", "08A41322030A0131", "0"));
}

}  // namespace
}  // namespace muster::scheduler
