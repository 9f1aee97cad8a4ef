#include "tests/contract/journal_contract.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace muster::scheduler {
namespace {

constexpr auto kPatience = std::chrono::seconds(20);

// Collects what on_durable says, from whichever thread.
class DurableWatch {
 public:
  void Attach(Journal& journal) {
    journal.SetOnDurable([this](uint64_t sequence) {
      std::lock_guard<std::mutex> lock(mutex_);
      told_.push_back(sequence);
      changed_.notify_all();
    });
  }
  bool WaitFor(uint64_t sequence) {
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return !told_.empty() && told_.back() >= sequence; });
  }
  std::vector<uint64_t> told() {
    std::lock_guard<std::mutex> lock(mutex_);
    return told_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<uint64_t> told_;
};

v1::Record RecordOf(const std::string& name) {
  v1::Record record;
  record.set_unix_ms(1234);
  record.mutable_run_opened()->set_job_id(name);
  return record;
}

std::vector<std::string> ReplayedNames(Journal& journal) {
  std::vector<std::string> names;
  const absl::Status status =
      journal.Replay([&](const v1::Record& record) { names.push_back(record.run_opened().job_id()); });
  EXPECT_TRUE(status.ok()) << status;
  return names;
}

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

TEST_P(JournalContract, DurabilityIsToldForEverythingAndNeverFalls) {
  auto home = GetParam().make();
  auto journal = home->Open();
  DurableWatch watch;
  watch.Attach(*journal);
  ReplayedNames(*journal);
  uint64_t last = 0;
  for (int i = 0; i < 200; ++i) last = journal->Append({RecordOf("x"), RecordOf("y")});
  ASSERT_EQ(last, 400u);
  ASSERT_TRUE(watch.WaitFor(last)) << "on_durable never told " << last;
  uint64_t previous = 0;
  for (uint64_t sequence : watch.told()) {
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

TEST_P(JournalContract, SaysWhatItIs) {
  auto home = GetParam().make();
  EXPECT_FALSE(home->Open()->Describe().empty());
}

}  // namespace
}  // namespace muster::scheduler
