#include "tests/contract/faulty_journal.h"

#include <utility>

#include "absl/status/status.h"

namespace muster::scheduler {

absl::Status FaultyJournal::Replay(const std::function<void(const v1::Record&)>& take) {
  for (const FaultyDisk::Entry& entry : disk_.entries) take(entry.record);
  return absl::OkStatus();
}

uint64_t FaultyJournal::Append(std::vector<v1::Record> records) {
  for (v1::Record& record : records) disk_.entries.push_back({LastSequence() + 1, std::move(record)});
  if (disk_.syncs_by_itself) Sync();
  return LastSequence();
}

void FaultyJournal::AppendSnapshot(JournalSnapshot snapshot) {
  disk_.entries.push_back({LastSequence(), snapshot.make()});
  if (!disk_.syncs_by_itself) return;
  disk_.entries.erase(disk_.entries.begin(), disk_.entries.end() - 1);
  Sync();
}

void FaultyJournal::Sync() {
  disk_.synced = disk_.entries.size();
  if (on_durable_) on_durable_(LastSequence());
}

}  // namespace muster::scheduler
