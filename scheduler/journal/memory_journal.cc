#include "scheduler/journal/memory_journal.h"

#include <utility>

#include "common/base/check.h"

namespace muster::scheduler {

absl::Status MemoryJournal::Replay(const std::function<void(const v1::Record&)>& /*take*/) {
  MUSTER_CHECK(last_sequence_ == 0, "Replay comes before the first Append");
  return absl::OkStatus();
}

uint64_t MemoryJournal::Append(std::vector<v1::Record> records) {
  MUSTER_CHECK(!records.empty(), "Append wants at least one record");
  last_sequence_ += records.size();
  if (on_durable_) on_durable_(last_sequence_);
  return last_sequence_;
}

void MemoryJournal::SetOnDurable(std::function<void(uint64_t)> on_durable) { on_durable_ = std::move(on_durable); }

}  // namespace muster::scheduler
