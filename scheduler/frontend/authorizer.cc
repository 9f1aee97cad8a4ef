#include "scheduler/frontend/authorizer.h"

#include "absl/strings/cord.h"

namespace muster::scheduler {
namespace {

constexpr char kKindPayload[] = "muster/kind";

}  // namespace

void SetKind(absl::Status& status, const std::string& kind) { status.SetPayload(kKindPayload, absl::Cord(kind)); }

std::string KindOf(const absl::Status& status) {
  const auto kind = status.GetPayload(kKindPayload);
  return kind.has_value() ? std::string(*kind) : "not authorized";
}

absl::Status PlaintextAuthorizer::AuthorizeJoin(const PeerFacts& peer, const v1::Join& /*join*/) const {
  // Other nodes reach a node at the address that its connection came from, so this must be an IP address.
  if (peer.is_unix) return absl::PermissionDeniedError("nodes join over TCP, not over the admin socket");
  if (peer.address.empty()) return absl::PermissionDeniedError("the address of the node's connection is not known");
  return absl::OkStatus();
}

absl::Status PlaintextAuthorizer::AuthorizeForNode(const PeerFacts& /*peer*/, const std::string& /*job_id*/,
                                                   const std::string& /*node_id*/) const {
  return absl::OkStatus();
}

absl::Status PlaintextAuthorizer::AuthorizeAdminChange(const PeerFacts& peer, const std::string& /*job_id*/) const {
  if (peer.is_unix) return absl::OkStatus();
  return absl::PermissionDeniedError(
      "without TLS, changes are accepted only over the scheduler's Unix socket: run ms-ctl on the scheduler's machine "
      "as the user that runs ms-scheduler, or as root");
}

absl::Status PlaintextAuthorizer::AuthorizeLook(const PeerFacts& /*peer*/) const { return absl::OkStatus(); }

absl::Status PlaintextAuthorizer::AuthorizeLookAt(const PeerFacts& /*peer*/, std::string& /*job_id*/) const {
  return absl::OkStatus();
}

absl::Status PlaintextAuthorizer::CheckStillWelcome(const PeerFacts& /*peer*/) const { return absl::OkStatus(); }

}  // namespace muster::scheduler
