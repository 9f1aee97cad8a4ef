// Who may do what. One implementation without TLS; the one with certificates takes its place.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "muster/v1/rendezvous.pb.h"
#include "scheduler/ingress/peer_facts.h"

namespace muster::scheduler {

// What a refusal is counted under, where that is more than "not authorized".
void SetKind(absl::Status& status, const std::string& kind);
std::string KindOf(const absl::Status& status);

// Any thread. Errors are PERMISSION_DENIED and say what the peer may do instead.
class Authorizer {
 public:
  virtual ~Authorizer() = default;
  // May this peer be the node and join the job that the message names?
  virtual absl::Status AuthorizeJoin(const PeerFacts& peer, const v1::Join& join) const = 0;
  // May this peer speak for a node (Farewell), or ask for the peers of a job (node_id empty)?
  virtual absl::Status AuthorizeForNode(const PeerFacts& peer, const std::string& job_id,
                                        const std::string& node_id) const = 0;
  // May this peer change something about a job (stop a run)?
  virtual absl::Status AuthorizeAdminChange(const PeerFacts& peer, const std::string& job_id) const = 0;
  // May this peer look at the scheduler itself, which tells nothing of any job?
  virtual absl::Status AuthorizeLook(const PeerFacts& peer) const = 0;
  // May this peer look at a job? An empty job_id means all: it becomes the peer's own job if it may look at that only.
  virtual absl::Status AuthorizeLookAt(const PeerFacts& peer, std::string& job_id) const = 0;
  // May a stream that was let in before stay? Asked when whom we trust has changed.
  virtual absl::Status CheckStillWelcome(const PeerFacts& peer) const = 0;
  // Adds the authorities that the peer's certificate hangs on, as far as they are known now: what CheckStillWelcome
  // asks about. For a peer that stays.
  virtual void AddIssuers(PeerFacts& /*peer*/) const {}
};

// Without TLS everybody who reaches the port may join and look; changes are for the admin socket only.
class PlaintextAuthorizer : public Authorizer {
 public:
  absl::Status AuthorizeJoin(const PeerFacts& peer, const v1::Join& join) const override;
  absl::Status AuthorizeForNode(const PeerFacts& peer, const std::string& job_id,
                                const std::string& node_id) const override;
  absl::Status AuthorizeAdminChange(const PeerFacts& peer, const std::string& job_id) const override;
  absl::Status AuthorizeLook(const PeerFacts& peer) const override;
  absl::Status AuthorizeLookAt(const PeerFacts& peer, std::string& job_id) const override;
  absl::Status CheckStillWelcome(const PeerFacts& peer) const override;
};

}  // namespace muster::scheduler
