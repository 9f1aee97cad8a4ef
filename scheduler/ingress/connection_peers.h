// The peer of each connection in gRPC, by the connection's number (http2/connection_name.h). Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "common/base/mutex.h"
#include "scheduler/ingress/peer_facts.h"

namespace muster::scheduler {

class ConnectionPeers {
 public:
  // Call Add before gRPC gets the connection, and Remove after it has ended.
  void Add(uint64_t connection, PeerFacts facts);
  void Remove(uint64_t connection);

  // Returns the peer of a call; `grpc_peer` is gRPC's name for it. Never null: an unknown peer has no address, and so
  // may do nothing for which an address is required.
  std::shared_ptr<const PeerFacts> Find(const std::string& grpc_peer) const;
  std::string NameOf(uint64_t connection) const;     // PeerFacts::ToString, for messages
  std::string ReachedAt(uint64_t connection) const;  // PeerFacts::reached_at; empty: not known

 private:
  std::shared_ptr<const PeerFacts> FindNumber(uint64_t connection) const;

  mutable Mutex mutex_;
  std::unordered_map<uint64_t, std::shared_ptr<const PeerFacts>> peers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::scheduler
