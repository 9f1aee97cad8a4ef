#include "scheduler/journal/memory_journal.h"

#include "tests/contract/journal_contract.h"

namespace muster::scheduler {
namespace {

class MemoryHome : public JournalHome {
 public:
  std::unique_ptr<Journal> Open() override { return std::make_unique<MemoryJournal>(); }
};

INSTANTIATE_TEST_SUITE_P(Memory, JournalContract,
                         ::testing::Values(JournalFactory{"memory", [] { return std::make_unique<MemoryHome>(); }}),
                         [](const auto& tested) { return tested.param.name; });

TEST(MemoryJournal, IsDurableAtOnceAndForgets) {
  MemoryJournal journal;
  uint64_t durable = 0;
  journal.SetOnDurable([&](uint64_t sequence) { durable = sequence; });
  EXPECT_EQ(journal.Append({v1::Record(), v1::Record()}), 2u);
  EXPECT_EQ(durable, 2u);
  EXPECT_FALSE(journal.IsPersistent());
}

}  // namespace
}  // namespace muster::scheduler
