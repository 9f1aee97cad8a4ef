#include "scheduler/ingress/unjoined_connections.h"

namespace muster::scheduler {

NamedConnection UnjoinedConnections::TakeFirst() {
  const uint64_t id = calm_.begin()->second;
  calm_.erase(calm_.begin());
  const auto known = known_.extract(id);
  return {id, std::move(known.mapped().peer)};
}

std::optional<NamedConnection> UnjoinedConnections::Add(NamedConnection connection, MonotonicTime now) {
  known_[connection.id] = Known{std::move(connection.peer), now};
  calm_.emplace(now, connection.id);
  if (calm_.size() <= options_.limit) return std::nullopt;
  return TakeFirst();
}

void UnjoinedConnections::NoteCall(uint64_t id, MonotonicTime now) {
  const auto found = known_.find(id);
  if (found == known_.end()) return;
  if (calm_.erase({found->second.last_call, id}) > 0) calm_.emplace(now, id);
  found->second.last_call = now;
}

void UnjoinedConnections::NoteJoined(uint64_t id) {
  const auto found = known_.find(id);
  if (found == known_.end()) return;
  ++found->second.joined;
  calm_.erase({found->second.last_call, id});
}

void UnjoinedConnections::NoteLeft(uint64_t id, MonotonicTime now) {
  const auto found = known_.find(id);
  if (found == known_.end() || found->second.joined == 0 || --found->second.joined > 0) return;
  found->second.last_call = now;
  calm_.emplace(now, id);
}

void UnjoinedConnections::NoteClosed(uint64_t id) {
  const auto found = known_.find(id);
  if (found == known_.end()) return;
  calm_.erase({found->second.last_call, id});
  known_.erase(found);
}

std::vector<NamedConnection> UnjoinedConnections::TakeCalm(MonotonicTime now, absl::Duration calm) {
  std::vector<NamedConnection> taken;
  while (!calm_.empty() && now - calm_.begin()->first >= calm) taken.push_back(TakeFirst());
  return taken;
}

}  // namespace muster::scheduler
