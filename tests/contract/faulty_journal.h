// A journal whose disk forgets what was not synced when the machine loses power. For tests.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "scheduler/journal/journal.h"

namespace muster::scheduler {

// Outlives the journals on it. One thread.
struct FaultyDisk {
  struct Entry {
    uint64_t sequence = 0;  // of a snapshot: through
    v1::Record record;
  };
  std::vector<Entry> entries;
  size_t synced = 0;  // so many of them survive
  bool syncs_by_itself = true;

  void LosePower() { entries.resize(synced); }
};

class FaultyJournal : public Journal {
 public:
  // The disk must have been left by its journal before.
  explicit FaultyJournal(FaultyDisk& disk) : disk_(disk) {}

  absl::Status Replay(const std::function<void(const v1::Record&)>& take) override;
  uint64_t Append(std::vector<v1::Record> records) override;
  bool WantsSnapshot() const override { return false; }
  void AppendSnapshot(JournalSnapshot snapshot) override;
  void SetOnDurable(std::function<void(uint64_t)> on_durable) override { on_durable_ = std::move(on_durable); }
  bool IsPersistent() const override { return true; }
  std::string Describe() const override { return "faulty"; }

  // What was appended so far is durable now.
  void Sync();

 private:
  uint64_t LastSequence() const { return disk_.entries.empty() ? 0 : disk_.entries.back().sequence; }

  FaultyDisk& disk_;
  std::function<void(uint64_t)> on_durable_;
};

}  // namespace muster::scheduler
