// The peers of gRPC's connections, by the connection's number (http2/connection_name.h). Thread-safe.
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

  // Finds a call's peer. Never null: an unknown one has no address, and may do nothing that requires one.
  std::shared_ptr<const PeerFacts> Find(const std::string& grpc_peer) const;
  std::string NameOf(uint64_t connection) const;     // for people
  std::string ReachedAt(uint64_t connection) const;  // PeerFacts::reached_at; empty: not known

 private:
  std::shared_ptr<const PeerFacts> FindNumber(uint64_t connection) const;

  mutable Mutex mutex_;
  std::unordered_map<uint64_t, std::shared_ptr<const PeerFacts>> peers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::scheduler
