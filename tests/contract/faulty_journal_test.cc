#include "tests/contract/faulty_journal.h"

#include <gmock/gmock.h>

#include "tests/contract/journal_contract.h"
#include "tests/contract/journal_testing.h"

namespace muster::scheduler {
namespace {

using ::testing::ElementsAre;

class FaultyHome : public JournalHome {
 public:
  std::unique_ptr<Journal> Open() override { return std::make_unique<FaultyJournal>(disk_); }

 private:
  FaultyDisk disk_;
};

INSTANTIATE_TEST_SUITE_P(Faulty, JournalContract,
                         ::testing::Values(JournalFactory{"faulty", [] { return std::make_unique<FaultyHome>(); }}),
                         [](const auto& tested) { return tested.param.name; });

TEST(FaultyJournal, ForgetsWhatWasNotSynced) {
  FaultyDisk disk;
  disk.syncs_by_itself = false;
  DurableWatch watch;
  {
    FaultyJournal journal(disk);
    watch.Attach(journal);
    journal.Append({RecordOf("1"), RecordOf("2")});
    journal.Sync();
    EXPECT_EQ(journal.Append({RecordOf("3")}), 3u);
  }
  EXPECT_THAT(watch.reported(), ElementsAre(2));
  disk.LosePower();
  FaultyJournal journal(disk);
  EXPECT_THAT(ReplayedNames(journal), ElementsAre("1", "2"));
  EXPECT_EQ(journal.Append({RecordOf("4")}), 3u);
}

}  // namespace
}  // namespace muster::scheduler
