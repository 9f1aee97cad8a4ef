#include "scheduler/ingress/peer_facts.h"

#include "absl/strings/match.h"
#include "common/net/grpc_calls.h"

namespace muster::scheduler {

std::string PeerFacts::ToString() const {
  if (is_unix) return "the admin socket";
  return address.empty() ? "an unknown address" : JoinHostPort(address, port);
}

PeerFacts ParsePeer(const std::string& grpc_peer) {
  PeerFacts facts;
  if (absl::StartsWith(grpc_peer, "unix")) {
    facts.is_unix = true;
    return facts;
  }
  if (const std::optional<GrpcPeer> peer = ParseGrpcPeer(grpc_peer)) {
    facts.address = peer->address.ToString();
    facts.port = peer->port;
  }
  return facts;
}

}  // namespace muster::scheduler
