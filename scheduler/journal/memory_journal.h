// A journal that forgets everything when the process ends: for --once without recovery, and for tests.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "scheduler/journal/journal.h"

namespace muster::scheduler {

// Records are durable at once: on_durable is called inside Append.
class MemoryJournal : public Journal {
 public:
  absl::Status Replay(const std::function<void(const v1::Record&)>& take) override;
  uint64_t Append(std::vector<v1::Record> records) override;
  bool WantsSnapshot() const override { return false; }
  void AppendSnapshot(JournalSnapshot) override {}
  void SetOnDurable(std::function<void(uint64_t)> on_durable) override;
  bool IsPersistent() const override { return false; }
  std::string Describe() const override { return "memory"; }

 private:
  std::function<void(uint64_t)> on_durable_;
  uint64_t last_sequence_ = 0;
};

}  // namespace muster::scheduler
