// `ms-ctl journal`: its output, and that it changes nothing.
#include <gmock/gmock.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "ctl/commands/handlers.h"
#include "scheduler/core/core.h"
#include "scheduler/journal/sqlite_journal.h"
#include "tests/contract/journal_testing.h"

namespace muster::ctl {
namespace {

using scheduler::SqliteJournal;
using ::testing::AllOf;
using ::testing::HasSubstr;

class JournalCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    auto journal = SqliteJournal::Open(path_);
    ASSERT_TRUE(journal.ok()) << journal.status();
    scheduler::DurableWatch watch;
    watch.Attach(**journal);
    scheduler::Core core(scheduler::CoreOptions(), "cluster-1");
    const scheduler::Effects effects = core.Start({MonotonicTime::FromNanoseconds(1), WallTime{1'700'000'000'000}});
    uint64_t last = 0;
    for (const scheduler::Effect& effect : effects) {
      if (const auto* persist = std::get_if<scheduler::Persist>(&effect)) last = (*journal)->Append({persist->record});
    }
    ASSERT_TRUE(watch.WaitFor(last));
    (*journal)->SetOnDurable(nullptr);
  }
  static int Run(const std::vector<std::string>& words, bool json = false) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = RunJournal(words, json);
    std::fflush(stdout);
    out_ = testing::internal::GetCapturedStdout();
    err_ = testing::internal::GetCapturedStderr();
    return code;
  }
  static std::string Bytes(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream bytes;
    bytes << file.rdbuf();
    return bytes.str();
  }
  void Change(const std::string& sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }

  scheduler::TempFolder folder_;
  const std::string path_ = folder_ / "journal.db";
  static inline std::string out_;
  static inline std::string err_;
};

TEST_F(JournalCommand, ShowsEachRecord) {
  EXPECT_EQ(Run({"show", path_}), 0) << err_;
  EXPECT_THAT(out_, AllOf(HasSubstr("cluster_founded"), HasSubstr("cluster-1"), HasSubstr("term_begun")));
  EXPECT_EQ(Run({"show", path_}, true), 0);
  EXPECT_THAT(out_, HasSubstr(R"("kind":"cluster_founded","fields":{"cluster_id":"cluster-1"}})"));
}

TEST_F(JournalCommand, SaysThatItIsSound) {
  EXPECT_EQ(Run({"verify", path_}), 0) << err_;
  EXPECT_THAT(out_,
              AllOf(HasSubstr("is sound: format 3"), HasSubstr("cluster cluster-1, term 1"), HasSubstr("no job")));
  EXPECT_EQ(Run({"verify", path_}, true), 0);
  EXPECT_THAT(out_, HasSubstr("\"sound\": true"));
}

TEST_F(JournalCommand, RefusesAnotherFormatAndChangesNothing) {
  Change("UPDATE meta SET value='2' WHERE key='format'");
  const std::string before = Bytes(path_);
  EXPECT_EQ(Run({"verify", path_}), 1);
  EXPECT_THAT(err_, AllOf(HasSubstr(path_), HasSubstr("format 2")));
  EXPECT_EQ(Bytes(path_), before);
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(path_).parent_path())) {
    EXPECT_THAT(entry.path().filename().string(), ::testing::AnyOf("journal.db", "journal.db.owner"));
  }
}

TEST_F(JournalCommand, ADamagedOneIsSaidByItsOwnName) {
  Change("DELETE FROM records WHERE sequence=1");
  EXPECT_EQ(Run({"verify", path_}), 1);
  EXPECT_THAT(err_, AllOf(HasSubstr(path_), HasSubstr("record 1 is missing")));
}

TEST_F(JournalCommand, OneThatASchedulerHoldsIsLeftAlone) {
  const auto journal = SqliteJournal::Open(path_);
  ASSERT_TRUE(journal.ok());
  // A process does not see its own locks.
  EXPECT_EXIT(std::exit(RunJournal({"show", path_}, false)), ::testing::ExitedWithCode(1), "is held by process");
}

TEST_F(JournalCommand, WrongWordsAreUsage) {
  EXPECT_EQ(Run({}), 2);
  EXPECT_EQ(Run({"show"}), 2);
  EXPECT_EQ(Run({"delete", path_}), 2);
  EXPECT_EQ(Run({"show", path_ + ".not"}), 2);
  EXPECT_THAT(err_, HasSubstr("there is no journal"));
}

}  // namespace
}  // namespace muster::ctl
