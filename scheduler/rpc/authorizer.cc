#include "scheduler/rpc/authorizer.h"

namespace muster::scheduler {

absl::Status PlaintextAuthorizer::AuthorizeJoin(const PeerFacts& peer, const v1::Join& /*join*/) const {
  // A node is known to its peers by the address it came from.
  if (peer.is_unix) return absl::PermissionDeniedError("nodes join over TCP, not over the admin socket");
  if (peer.address.empty()) return absl::PermissionDeniedError("the address of the node's connection is not known");
  return absl::OkStatus();
}

absl::Status PlaintextAuthorizer::AuthorizeForNode(const PeerFacts& /*peer*/, const std::string& /*job_id*/,
                                                   const std::string& /*node_id*/) const {
  return absl::OkStatus();
}

absl::Status PlaintextAuthorizer::AuthorizeAdminChange(const PeerFacts& peer) const {
  if (peer.is_unix) return absl::OkStatus();
  return absl::PermissionDeniedError(
      "without TLS, changes are taken only over the scheduler's Unix socket: run ms-ctl on the scheduler's machine as "
      "the user that runs ms-scheduler, or as root");
}

}  // namespace muster::scheduler
