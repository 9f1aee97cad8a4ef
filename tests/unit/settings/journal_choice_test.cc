#include "scheduler/journal_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/journal/memory_journal.h"

namespace muster::scheduler {
namespace {

using ::testing::HasSubstr;

using Environment = std::map<std::string, std::string>;

TEST(ChooseJournal, GoesByThePrecedenceOfTheManual) {
  const Environment all = {
      {"STATE_DIRECTORY", "/var/lib/service:/var/lib/other"}, {"XDG_STATE_HOME", "/xdg"}, {"HOME", "/home/u"}};
  const Environment xdg = {{"STATE_DIRECTORY", "relative"}, {"XDG_STATE_HOME", "/xdg"}, {"HOME", "/home/u"}};
  const Environment home = {{"HOME", "/home/u"}};
  const struct {
    const char* name;
    std::function<void(SchedulerSettings&)> change;
    Environment environment;
    bool is_root;
    std::string path;
  } cases[] = {
      {"the flag",
       [](auto& s) {
         s.journal_path = "/j";
         s.recovery_path = "/r";
       },
       all, true, "/j"},
      {"memory",
       [](auto& s) {
         s.journal_path = "memory";
         s.recovery_path = "/r";
       },
       all, true, ""},
      {"the recovery path", [](auto& s) { s.recovery_path = "/r"; }, all, true, "/r/scheduler/journal-8118.db"},
      {"the service's folder", [](auto&) {}, all, true, "/var/lib/service/journal-8118.db"},
      {"the user's state folder", [](auto&) {}, xdg, true, "/xdg/muster/journal-8118.db"},
      {"root", [](auto&) {}, home, true, "/var/lib/muster/journal-8118.db"},
      {"a user", [](auto&) {}, home, false, "/home/u/.local/state/muster/journal-8118.db"},
      {"the port is in the name", [](auto& s) { s.sched_port = 9000; }, home, true, "/var/lib/muster/journal-9000.db"},
      {"once",
       [](auto& s) {
         s.once = true;
         s.recovery_path = "/r";
       },
       all, true, ""},
      {"once without recovery",
       [](auto& s) {
         s.once = true;
         s.enable_recovery = false;
       },
       all, true, ""},
      {"once with recovery",
       [](auto& s) {
         s.once = true;
         s.enable_recovery = true;
       },
       home, true, "/var/lib/muster/journal-8118.db"},
      {"once with a file",
       [](auto& s) {
         s.once = true;
         s.journal_path = "/j";
       },
       home, true, "/j"},
      {"any port with a file",
       [](auto& s) {
         s.sched_port = 0;
         s.journal_path = "/j";
       },
       home, true, "/j"},
  };
  for (const auto& test : cases) {
    SchedulerSettings settings;
    test.change(settings);
    const JournalChoice choice = ChooseJournal(settings, test.environment, test.is_root);
    EXPECT_EQ(choice.path, test.path) << test.name;
    EXPECT_EQ(choice.notice, "") << test.name;
  }
}

TEST(ChooseJournal, SaysSoWhenItForgetsUnasked) {
  SchedulerSettings settings;
  EXPECT_THAT(ChooseJournal(settings, {}, false).notice, HasSubstr("HOME"));
  settings.sched_port = 0;
  const JournalChoice choice = ChooseJournal(settings, {{"HOME", "/home/u"}}, false);
  EXPECT_EQ(choice.path, "");
  EXPECT_THAT(choice.notice, HasSubstr("--journal_path"));
}

TEST(OpenJournal, OpensWhatWasAskedFor) {
  SchedulerSettings settings;
  settings.journal_path = kMemoryJournal;
  EXPECT_EQ((*OpenJournal(settings))->Describe(), "memory");
  settings.journal_path = "/proc/none/journal.db";
  EXPECT_FALSE(OpenJournal(settings).ok());
}

TEST(RecoveryText, IsForPeople) {
  const MemoryJournal journal;
  EXPECT_EQ(RecoveryText(journal, {}), "");
  EXPECT_EQ(RecoveryText(journal, {.records = 1, .jobs = 1, .runs = 2, .took = absl::Milliseconds(12)}),
            "recovered 1 job with 2 runs from 1 record of memory in 12 ms");
  EXPECT_EQ(WhyFull(journal), "");
}

}  // namespace
}  // namespace muster::scheduler
