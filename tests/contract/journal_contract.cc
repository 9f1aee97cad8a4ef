#include "tests/contract/journal_contract.h"

#include <condition_variable>
#include <mutex>
#include <vector>

#include "tests/contract/journal_testing.h"

namespace muster::scheduler {
namespace {

TEST_P(JournalContract, AFreshJournalReplaysNothing) {
  auto home = GetParam().make();
  EXPECT_TRUE(ReplayedNames(*home->Open()).empty());
}

TEST_P(JournalContract, SequencesStartAtOneAndRiseByOneForEachRecord) {
  auto home = GetParam().make();
  auto journal = home->Open();
  DurableWatch watch;
  watch.Attach(*journal);
  ReplayedNames(*journal);
  EXPECT_EQ(journal->Append({RecordOf("a")}), 1u);
  EXPECT_EQ(journal->Append({RecordOf("b"), RecordOf("c"), RecordOf("d")}), 4u);
  EXPECT_EQ(journal->Append({RecordOf("e")}), 5u);
  EXPECT_TRUE(watch.WaitFor(5));
}

TEST_P(JournalContract, DurabilityIsReportedForEverythingAndNeverFalls) {
  auto home = GetParam().make();
  auto journal = home->Open();
  DurableWatch watch;
  watch.Attach(*journal);
  ReplayedNames(*journal);
  uint64_t last = 0;
  for (int i = 0; i < 200; ++i) last = journal->Append({RecordOf("x"), RecordOf("y")});
  ASSERT_EQ(last, 400u);
  ASSERT_TRUE(watch.WaitFor(last)) << "on_durable never reported " << last;
  uint64_t previous = 0;
  for (uint64_t sequence : watch.reported()) {
    EXPECT_GE(sequence, previous);
    EXPECT_LE(sequence, last) << "durable before it was appended";
    previous = sequence;
  }
}

TEST_P(JournalContract, OnDurableMayTakeALockOfTheAppendingThread) {
  // The loop holds no lock while it appends, so on_durable may take the loop's lock at once.
  auto home = GetParam().make();
  auto journal = home->Open();
  std::mutex loop_mutex;
  uint64_t durable = 0;
  std::condition_variable changed;
  journal->SetOnDurable([&](uint64_t sequence) {
    std::lock_guard<std::mutex> lock(loop_mutex);
    durable = sequence;
    changed.notify_all();
  });
  ReplayedNames(*journal);
  const uint64_t last = journal->Append({RecordOf("a")});
  std::unique_lock<std::mutex> lock(loop_mutex);
  EXPECT_TRUE(changed.wait_for(lock, kPatience, [&] { return durable == last; }));
}

TEST_P(JournalContract, TheNextLifeReplaysWhatWasDurableInOrder) {
  auto home = GetParam().make();
  auto journal = home->Open();
  DurableWatch watch;
  watch.Attach(*journal);
  ReplayedNames(*journal);
  const bool is_persistent = journal->IsPersistent();
  journal->Append({RecordOf("1"), RecordOf("2")});
  ASSERT_TRUE(watch.WaitFor(journal->Append({RecordOf("3")})));
  journal.reset();

  journal = home->Open();
  DurableWatch second_watch;
  second_watch.Attach(*journal);
  const std::vector<std::string> expected =
      is_persistent ? std::vector<std::string>{"1", "2", "3"} : std::vector<std::string>{};
  EXPECT_EQ(ReplayedNames(*journal), expected);
  EXPECT_EQ(journal->Append({RecordOf("4")}), expected.size() + 1) << "sequences go on where the last life ended";
  EXPECT_TRUE(second_watch.WaitFor(expected.size() + 1));
}

TEST_P(JournalContract, ARecordComesBackByteForByte) {
  auto home = GetParam().make();
  auto journal = home->Open();
  if (!journal->IsPersistent()) GTEST_SKIP() << journal->Describe() << " forgets";
  DurableWatch watch;
  watch.Attach(*journal);
  ReplayedNames(*journal);
  v1::Record record;
  record.mutable_round_closed()->set_peer_list(std::string("\0\xff\n binary", 11));
  record.mutable_round_closed()->set_round(7);
  ASSERT_TRUE(watch.WaitFor(journal->Append({record})));
  journal.reset();
  journal = home->Open();
  std::vector<std::string> bytes;
  ASSERT_TRUE(journal->Replay([&](const v1::Record& r) { bytes.push_back(r.SerializeAsString()); }).ok());
  EXPECT_EQ(bytes, std::vector<std::string>{record.SerializeAsString()});
}

TEST_P(JournalContract, ReplayBeginsWithTheSnapshotAndSequencesGoOn) {
  auto home = GetParam().make();
  auto journal = home->Open();
  if (!journal->IsPersistent()) GTEST_SKIP() << journal->Describe() << " forgets";
  DurableWatch watch;
  watch.Attach(*journal);
  ReplayedNames(*journal);
  journal->Append({RecordOf("1"), RecordOf("2")});
  journal->AppendSnapshot(SnapshotOf("1+2"));
  EXPECT_EQ(journal->Append({RecordOf("3")}), 3u) << "a snapshot takes no sequence";
  ASSERT_TRUE(watch.WaitFor(3));
  journal.reset();

  journal = home->Open();
  DurableWatch second_watch;
  second_watch.Attach(*journal);
  const std::vector<std::string> names = ReplayedNames(*journal);
  const std::vector<std::string> kept = {"1", "2", "snapshot 1+2", "3"};
  const std::vector<std::string> dropped = {"snapshot 1+2", "3"};
  EXPECT_TRUE(names == dropped || names == kept) << ::testing::PrintToString(names);
  EXPECT_EQ(journal->Append({RecordOf("4")}), 4u);
  EXPECT_TRUE(second_watch.WaitFor(4));
}

TEST_P(JournalContract, TheNextLifeGoesOnAfterASnapshotAlone) {
  auto home = GetParam().make();
  auto journal = home->Open();
  if (!journal->IsPersistent()) GTEST_SKIP() << journal->Describe() << " forgets";
  ReplayedNames(*journal);
  journal->Append({RecordOf("1"), RecordOf("2")});
  journal->AppendSnapshot(SnapshotOf("first"));
  journal->AppendSnapshot(SnapshotOf("second"));
  journal.reset();
  journal = home->Open();
  EXPECT_EQ(ReplayedNames(*journal).back(), "snapshot second");
  EXPECT_EQ(journal->Append({RecordOf("3")}), 3u);
}

TEST_P(JournalContract, NothingIsReportedAfterTheListenerIsRemoved) {
  auto home = GetParam().make();
  auto journal = home->Open();
  ReplayedNames(*journal);
  {
    DurableWatch watch;
    watch.Attach(*journal);
    for (int i = 0; i < 100; ++i) journal->Append({RecordOf("x")});
    journal->SetOnDurable(nullptr);
  }
  journal->Append({RecordOf("y")});  // a call now would reach a destroyed object
}

TEST_P(JournalContract, SaysWhatItIs) {
  auto home = GetParam().make();
  const auto journal = home->Open();
  EXPECT_FALSE(journal->Describe().empty());
  EXPECT_FALSE(journal->IsStalled());
  EXPECT_FALSE(journal->WantsSnapshot());
}

}  // namespace
}  // namespace muster::scheduler
