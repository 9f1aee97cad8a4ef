// Files of a journal are removed or replaced while the scheduler writes it.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>

#include "absl/strings/match.h"
#include "scheduler/journal/journal_place.h"
#include "scheduler/journal/sqlite_journal.h"
#include "tests/contract/journal_process.h"
#include "tests/contract/journal_testing.h"

namespace muster::scheduler {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using State = JournalPlace::State;

class JournalRemoved : public ::testing::Test {
 protected:
  // A life that appends "before", runs `happens`, goes on with `then`, and dies without a destructor.
  int Life(const std::function<void()>& happens, const std::function<bool(SqliteJournal&, DurableWatch&)>& then) {
    return InAnotherProcess([&] {
      auto journal = SqliteJournal::Open(path_);
      if (!journal.ok()) return 1;
      DurableWatch watch;
      watch.Attach(**journal);
      if (!watch.WaitFor((*journal)->Append({RecordOf("before")}))) return 2;
      happens();
      const bool is_well = then(**journal, watch);
      journal->release();
      return is_well ? 0 : 3;
    });
  }
  static bool AppendAfter(SqliteJournal& journal, DurableWatch& watch) {
    return watch.WaitFor(journal.Append({RecordOf("after")}));
  }
  std::vector<std::string> Names() {
    auto journal = SqliteJournal::Open(path_);
    EXPECT_TRUE(journal.ok()) << journal.status();
    return journal.ok() ? ReplayedNames(**journal) : std::vector<std::string>{};
  }
  std::string Refusal() {
    auto journal = SqliteJournal::Open(path_);
    return journal.ok() ? "opened" : journal.status().ToString();
  }

  TempFolder folder_;
  const std::string state_ = folder_ / "state";
  const std::string path_ = state_ + "/journal.db";
};

TEST_F(JournalRemoved, WhatIsAcknowledgedAfterwardsIsThereAtTheNextStart) {
  const std::vector<std::vector<std::string>> cases = {{""},         {"-wal"},           {".owner"},
                                                       {"", "-wal"}, {"-wal", ".owner"}, {"", "-wal", ".owner"}};
  for (const std::vector<std::string>& removed : cases) {
    SCOPED_TRACE(::testing::PrintToString(removed));
    ASSERT_EQ(Life(
                  [&] {
                    for (const auto& suffix : removed) fs::remove(path_ + suffix);
                  },
                  AppendAfter),
              0);
    EXPECT_TRUE(fs::exists(path_ + ".owner"));
    EXPECT_FALSE(fs::exists(path_ + ".again"));
    EXPECT_THAT(Names(), ElementsAre("before", "after"));
    fs::remove_all(state_);
  }
}

TEST_F(JournalRemoved, WithItsFolder) {
  ASSERT_EQ(Life([&] { fs::remove_all(state_); }, AppendAfter), 0);
  EXPECT_THAT(Names(), ElementsAre("before", "after"));
  fs::remove_all(state_);
  ASSERT_EQ(Life([&] { fs::rename(state_, state_ + ".old"); }, AppendAfter), 0);
  EXPECT_THAT(Names(), ElementsAre("before", "after"));
}

TEST_F(JournalRemoved, AgainAndAgain) {
  ASSERT_EQ(Life([] {},
                 [&](SqliteJournal& journal, DurableWatch& watch) {
                   for (int i = 0; i < 5; ++i) {
                     fs::remove(path_);
                     if (i % 2 == 0) fs::remove(path_ + "-wal");
                     if (!watch.WaitFor(journal.Append({RecordOf(std::to_string(i)), RecordOf("more")}))) return false;
                   }
                   return true;
                 }),
            0);
  EXPECT_EQ(Names().size(), 11u);
}

TEST_F(JournalRemoved, IsNoticedWithNothingToWrite) {
  for (const char* suffix : {"", "-wal", ".owner"}) {
    ASSERT_EQ(
        Life([&] { fs::remove(path_ + suffix); },
             [&](SqliteJournal&, DurableWatch& watch) {
               return watch.WaitUntil([&] { return fs::exists(path_ + suffix) && !fs::exists(path_ + ".again"); });
             }),
        0)
        << suffix;
    EXPECT_THAT(Names(), ElementsAre("before")) << suffix;
    fs::remove_all(state_);
  }
}

TEST_F(JournalRemoved, JustBeforeACleanEnd) {
  ASSERT_EQ(InAnotherProcess([&] {
              auto journal = SqliteJournal::Open(path_);
              if (!journal.ok()) return 1;
              (*journal)->Append({RecordOf("1")});
              fs::remove_all(state_);
              journal->reset();
              return 0;
            }),
            0);
  EXPECT_THAT(Names(), ElementsAre("1"));
}

TEST_F(JournalRemoved, TheNewFileIsHeldAndPrivateLikeTheOldOne) {
  ASSERT_EQ(Life([&] { fs::remove(path_); },
                 [&](SqliteJournal& journal, DurableWatch& watch) {
                   struct stat about {};
                   return AppendAfter(journal, watch) && stat(path_.c_str(), &about) == 0 &&
                          (about.st_mode & 07777) == 0600 &&
                          InAnotherProcess(
                              [&] { return absl::StrContains(Refusal(), "held by another process") ? 0 : 1; }) == 0;
                 }),
            0);
}

// The owner's note shows that a record is missing.
TEST_F(JournalRemoved, PutBackAsItWasWhenItWasTaken) {
  ASSERT_EQ(Life([&] { fs::rename(path_, folder_ / "aside"); },
                 [&](SqliteJournal& journal, DurableWatch& watch) {
                   return AppendAfter(journal, watch) && watch.WaitFor(journal.Append({RecordOf("missing")}));
                 }),
            0);
  fs::remove(path_ + "-wal");
  fs::rename(folder_ / "aside", path_);
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("record 3 was acknowledged"), HasSubstr("right copy")));
}

TEST_F(JournalRemoved, AnotherFileInItsPlaceEndsTheProcessUnanswered) {
  for (const char* suffix : {"", "-wal"}) {
    ASSERT_TRUE(WriteAndDie(path_, {"1"}));
    EXPECT_EXIT(
        {
          auto journal = SqliteJournal::Open(path_);
          DurableWatch watch;
          watch.Attach(**journal);
          (*journal)->Append({RecordOf("2")});
          watch.WaitFor(2);
          fs::copy_file(path_ + suffix, folder_ / "other");
          fs::rename(folder_ / "other", path_ + suffix);
          watch.WaitFor((*journal)->Append({RecordOf("3")}));
          std::_Exit(0);
        },
        ::testing::ExitedWithCode(1),
        "is not the file that this ms-scheduler writes.*start ms-scheduler again.*answers no request");
    fs::remove_all(state_);
    fs::remove(folder_ / "other");
  }
}

// A path that can't be resolved says nothing about the file.
TEST_F(JournalRemoved, GoesOnWhileItsPathCannotBeResolved) {
  const std::string real = folder_ / "real";
  fs::create_directory(real);
  fs::create_directory_symlink(real, state_);
  const auto lead_to = [&](const std::string& target) {
    fs::remove(state_);
    fs::create_directory_symlink(target, state_);
  };
  ASSERT_EQ(Life([&] { lead_to("state"); },  // a link to itself: ELOOP
                 [&](SqliteJournal& journal, DurableWatch& watch) {
                   if (!AppendAfter(journal, watch)) return false;
                   lead_to(real);
                   return watch.WaitFor(journal.Append({RecordOf("and on")}));
                 }),
            0);
  EXPECT_THAT(Names(), ElementsAre("before", "after", "and on"));
}

TEST_F(JournalRemoved, AnUnfinishedCopyIsNotTakenForTheJournal) {
  ASSERT_TRUE(WriteAndDie(path_, {"1"}));
  for (const char* suffix : {"-wal", ".owner"}) fs::remove(path_ + suffix);
  fs::rename(path_, path_ + ".again");
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("journal verify " + path_ + ".again"), HasSubstr("remove it")));
  EXPECT_FALSE(fs::exists(path_));
  fs::remove(path_ + ".again");
  EXPECT_EQ(Refusal(), "opened");
}

TEST_F(JournalRemoved, Looks) {
  fs::create_directory(state_);
  const std::string log = path_ + "-wal";
  const auto make = [&] {
    for (const auto& file : {path_, log}) std::ofstream(file).close();
  };
  make();
  const auto place = JournalPlace::Of(path_);
  ASSERT_TRUE(place.ok()) << place.status();
  const auto keep = std::make_pair(std::ifstream(path_), std::ifstream(log));  // keeps their inode numbers in use
  EXPECT_EQ(place->Look().state, State::kInPlace);
  fs::rename(log, folder_ / "log");
  EXPECT_EQ(place->Look().state, State::kLogIsGone);
  std::ofstream(log).close();
  EXPECT_EQ(place->Look().state, State::kIsAnother);
  EXPECT_EQ(place->Look().words, log);
  fs::rename(folder_ / "log", log);
  fs::rename(path_, folder_ / "journal");
  EXPECT_EQ(place->Look().state, State::kIsGone);
  std::ofstream(path_).close();
  EXPECT_EQ(place->Look().words, path_);
  fs::rename(folder_ / "journal", path_);
  EXPECT_EQ(place->Look().state, State::kInPlace);
  fs::rename(state_, folder_ / "elsewhere");
  EXPECT_EQ(place->Look().state, State::kIsGone);
  std::ofstream(state_).close();  // a file instead of a folder
  EXPECT_EQ(place->Look().state, State::kIsGone);
  fs::remove(state_);
  fs::create_symlink("state", state_);
  EXPECT_EQ(place->Look().state, State::kUnknown);
  EXPECT_THAT(place->Look().words, HasSubstr("Too many levels of symbolic links"));
}

}  // namespace
}  // namespace muster::scheduler
