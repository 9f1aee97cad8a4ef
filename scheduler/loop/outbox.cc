#include "scheduler/loop/outbox.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"

namespace muster::scheduler {

Outbox::Immediate Outbox::Add(Effects effects) {
  DropSuperseded(effects);
  Immediate immediate;
  for (Effect& effect : effects) {
    if (auto* persist = std::get_if<Persist>(&effect)) {
      immediate.records.push_back(std::move(persist->record));
      ++records_;
      continue;
    }
    if (auto* send = std::get_if<Send>(&effect); send != nullptr && send->is_urgent) {
      immediate.urgent.push_back(std::move(*send));
      continue;
    }
    waiting_.push_back(Waiting{records_, std::move(effect)});
  }
  return immediate;
}

void Outbox::DropSuperseded(const Effects& effects) {
  if (waiting_.empty()) return;
  absl::flat_hash_set<StreamId> streams;
  for (const Effect& effect : effects) {
    const auto* send = std::get_if<Send>(&effect);
    if (send != nullptr && send->is_urgent && send->message->has_desired()) streams.insert(send->stream);
  }
  if (streams.empty()) return;
  std::erase_if(waiting_, [&](const Waiting& waiting) {
    const auto* send = std::get_if<Send>(&waiting.effect);
    return send != nullptr && send->message->has_desired() && streams.contains(send->stream);
  });
}

Effects Outbox::TakeReleased(uint64_t durable) {
  Effects released;
  while (!waiting_.empty() && waiting_.front().after <= durable) {
    released.push_back(std::move(waiting_.front().effect));
    waiting_.pop_front();
  }
  return released;
}

}  // namespace muster::scheduler
