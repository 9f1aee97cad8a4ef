#include "scheduler/ingress/unjoined_connections.h"

namespace muster::scheduler {

void UnjoinedConnections::Forget(const std::string& peer) {
  const auto found = known_.find(peer);
  if (found == known_.end()) return;
  calm_.erase({found->second.last_call, peer});
  known_.erase(found);
}

std::optional<PeerSocket> UnjoinedConnections::Add(const std::string& peer, SocketRef socket, MonotonicTime now) {
  Forget(peer);  // an older connection from the same port
  known_[peer] = Known{socket, now};
  calm_.emplace(now, peer);
  if (calm_.size() <= options_.limit) return std::nullopt;
  PeerSocket first{calm_.begin()->second, known_.at(calm_.begin()->second).socket};
  Forget(first.peer);
  return first;
}

void UnjoinedConnections::NoteCall(const std::string& peer, MonotonicTime now) {
  const auto found = known_.find(peer);
  if (found == known_.end()) return;
  if (calm_.erase({found->second.last_call, peer}) > 0) calm_.emplace(now, peer);
  found->second.last_call = now;
}

void UnjoinedConnections::NoteJoined(const std::string& peer) {
  const auto found = known_.find(peer);
  if (found == known_.end()) return;
  ++found->second.joined;
  calm_.erase({found->second.last_call, peer});
}

void UnjoinedConnections::NoteLeft(const std::string& peer, MonotonicTime now) {
  const auto found = known_.find(peer);
  if (found == known_.end() || found->second.joined == 0 || --found->second.joined > 0) return;
  found->second.last_call = now;
  calm_.emplace(now, peer);
}

}  // namespace muster::scheduler
