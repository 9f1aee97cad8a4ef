// A journal for tests: when the machine loses power, its disk forgets all records that were not synced.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "scheduler/journal/journal.h"

namespace muster::scheduler {

// Must outlive the journals on it. For one thread.
struct FaultyDisk {
  struct Entry {
    uint64_t sequence = 0;  // of a snapshot: the last record that it covers
    v1::Record record;
  };
  std::vector<Entry> entries;
  size_t synced = 0;  // so many entries survive
  bool syncs_by_itself = true;

  void LosePower() { entries.resize(synced); }
};

class FaultyJournal : public Journal {
 public:
  // An earlier journal on this disk must have been destroyed before.
  explicit FaultyJournal(FaultyDisk& disk) : disk_(disk) {}

  absl::Status Replay(const std::function<void(const v1::Record&)>& take) override;
  uint64_t Append(std::vector<v1::Record> records) override;
  bool WantsSnapshot() const override { return false; }
  void AppendSnapshot(JournalSnapshot snapshot) override;
  void SetOnDurable(std::function<void(uint64_t)> on_durable) override { on_durable_ = std::move(on_durable); }
  bool IsPersistent() const override { return true; }
  std::string Describe() const override { return "faulty"; }

  // Makes durable all that was appended so far.
  void Sync();

 private:
  uint64_t LastSequence() const { return disk_.entries.empty() ? 0 : disk_.entries.back().sequence; }

  FaultyDisk& disk_;
  std::function<void(uint64_t)> on_durable_;
};

}  // namespace muster::scheduler
