// gRPC's names for peers, and their meaning:
//
//   unix-abstract:ms-<number>   the peer of the connection with this number, if it is open
//   unix:, unix:<path>          a client of the admin socket, so the scheduler's user or root. (A client that binds its
//                               own end of it to an abstract name has the name "unix-abstract:…", and is unknown.)
//   anything else               unknown
#include "scheduler/ingress/connection_peers.h"

#include <utility>

#include "absl/strings/match.h"
#include "common/net/http2/connection_name.h"

namespace muster::scheduler {

void ConnectionPeers::Add(uint64_t connection, PeerFacts facts) {
  facts.connection = connection;
  auto shared = std::make_shared<const PeerFacts>(std::move(facts));
  MutexLock lock(mutex_);
  peers_[connection] = std::move(shared);
}

void ConnectionPeers::Remove(uint64_t connection) {
  std::shared_ptr<const PeerFacts> removed;  // freed after the lock is released
  MutexLock lock(mutex_);
  const auto found = peers_.find(connection);
  if (found == peers_.end()) return;
  removed = std::move(found->second);
  peers_.erase(found);
}

std::shared_ptr<const PeerFacts> ConnectionPeers::FindNumber(uint64_t connection) const {
  MutexLock lock(mutex_);
  const auto found = peers_.find(connection);
  return found == peers_.end() ? nullptr : found->second;
}

std::shared_ptr<const PeerFacts> ConnectionPeers::Find(const std::string& grpc_peer) const {
  if (const uint64_t connection = ConnectionOf(grpc_peer); connection != 0) {
    if (std::shared_ptr<const PeerFacts> known = FindNumber(connection)) return known;
  }
  auto facts = std::make_shared<PeerFacts>();
  facts->is_unix = absl::StartsWith(grpc_peer, "unix:");
  return facts;
}

std::string ConnectionPeers::NameOf(uint64_t connection) const {
  const std::shared_ptr<const PeerFacts> known = FindNumber(connection);
  return known == nullptr ? PeerFacts().ToString() : known->ToString();
}

std::string ConnectionPeers::ReachedAt(uint64_t connection) const {
  const std::shared_ptr<const PeerFacts> known = FindNumber(connection);
  return known == nullptr ? "" : known->reached_at;
}

}  // namespace muster::scheduler
