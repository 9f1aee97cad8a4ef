#include "scheduler/loop/outbox.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace muster::scheduler {

Outbox::Immediate Outbox::Add(Effects effects, bool is_stalled) {
  DropSuperseded(effects);
  Immediate immediate;
  for (Effect& effect : effects) {
    if (auto* persist = std::get_if<Persist>(&effect)) {
      ++records_;
      if (persist->record.has_round_closed()) {
        const v1::RoundClosed& closed = persist->record.round_closed();
        undurable_rounds_.push_back({closed.job_id(), closed.run(), closed.round(), records_});
      }
      immediate.records.push_back(std::move(persist->record));
      continue;
    }
    if (auto* send = std::get_if<Send>(&effect); send != nullptr && send->is_urgent && !IsOfUndurableRound(*send)) {
      immediate.urgent.push_back(std::move(*send));
      continue;
    }
    if (auto* send = std::get_if<Send>(&effect);
        is_stalled && send != nullptr && MayOvertake(*send, !immediate.records.empty())) {
      auto answer = std::make_shared<v1::SchedulerMessage>(*send->message);
      // `waiting` and `events_through` may count nodes and events that are not durable yet.
      answer->mutable_acknowledgement()->clear_waiting();
      answer->mutable_acknowledgement()->clear_events_through();
      immediate.urgent.push_back(Send{send->stream, std::move(answer), true});
      continue;
    }
    waiting_.push_back(Waiting{records_, std::move(effect), !immediate.records.empty()});
  }
  if (waiting_.size() >= drop_at_) DropOldAcknowledgements();
  return immediate;
}

bool Outbox::IsOfUndurableRound(const Send& send) const {
  if (!send.message->has_desired()) return false;
  const v1::DesiredState& desired = send.message->desired();
  return std::any_of(undurable_rounds_.begin(), undurable_rounds_.end(), [&](const UndurableRound& round) {
    return round.job_id == send.job_id && round.run == desired.run() && round.round == desired.round();
  });
}

// Returns whether the answer to a heartbeat may be sent before the effects that wait. Only an answer with an armed
// fence may: "not armed" may follow from a record that is not durable yet, and the node would disarm its fence too
// early.
bool Outbox::MayOvertake(const Send& send, bool has_news) const {
  if (has_news || !send.message->has_acknowledgement()) return false;
  if (send.message->acknowledgement().fence_timeout_ms() == 0) return false;
  return std::all_of(waiting_.begin(), waiting_.end(), [&](const Waiting& waiting) {
    const auto* earlier = std::get_if<Send>(&waiting.effect);
    if (earlier == nullptr || earlier->stream != send.stream) return true;
    return earlier->message->has_acknowledgement() && !waiting.has_news;
  });
}

// Keeps only the latest answer to a heartbeat on each stream: it includes everything that the earlier ones say.
void Outbox::DropOldAcknowledgements() {
  absl::flat_hash_map<StreamId, Waiting*> latest;
  for (auto waiting = waiting_.rbegin(); waiting != waiting_.rend(); ++waiting) {
    auto* send = std::get_if<Send>(&waiting->effect);
    if (send == nullptr || !send->message->has_acknowledgement()) continue;
    const auto [later, is_first] = latest.try_emplace(send->stream, &*waiting);
    if (is_first) continue;
    later->second->has_news |= waiting->has_news;
    send->message = nullptr;
  }
  std::erase_if(waiting_, [](const Waiting& waiting) {
    const auto* send = std::get_if<Send>(&waiting.effect);
    return send != nullptr && send->message == nullptr;
  });
  drop_at_ = std::max(kDropAtLeast, 2 * waiting_.size());
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

void Outbox::Forget(StreamId stream) {
  std::erase_if(waiting_, [stream](const Waiting& waiting) {
    const auto* send = std::get_if<Send>(&waiting.effect);
    return send != nullptr && send->stream == stream;
  });
}

Effects Outbox::TakeReleased(uint64_t durable) {
  while (!undurable_rounds_.empty() && undurable_rounds_.front().record <= durable) undurable_rounds_.pop_front();
  Effects released;
  while (!waiting_.empty() && waiting_.front().after <= durable) {
    released.push_back(std::move(waiting_.front().effect));
    waiting_.pop_front();
  }
  return released;
}

}  // namespace muster::scheduler
