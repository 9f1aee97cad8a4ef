// Decides what a peer may do. One implementation is for use without TLS; another checks certificates
// (tls_authorizer.h).
#pragma once

#include <string>

#include "absl/status/status.h"
#include "muster/v1/rendezvous.pb.h"
#include "scheduler/ingress/peer_facts.h"

namespace muster::scheduler {

// SetKind adds to a refusal the name under which it is counted. KindOf returns this name, or "not authorized" if there
// is none.
void SetKind(absl::Status& status, const std::string& kind);
std::string KindOf(const absl::Status& status);

// Any thread may call its methods. Their errors are PERMISSION_DENIED, with a remedy for the peer.
class Authorizer {
 public:
  virtual ~Authorizer() = default;
  // OK if this peer may be the node and join the job that the message names.
  virtual absl::Status AuthorizeJoin(const PeerFacts& peer, const v1::Join& join) const = 0;
  // OK if this peer may speak for a node (LastReport), or ask for the peers of a job (node_id empty).
  virtual absl::Status AuthorizeForNode(const PeerFacts& peer, const std::string& job_id,
                                        const std::string& node_id) const = 0;
  // OK if this peer may change a job (stop a run).
  virtual absl::Status AuthorizeAdminChange(const PeerFacts& peer, const std::string& job_id) const = 0;
  // OK if this peer may look at the scheduler itself, which shows nothing of any job.
  virtual absl::Status AuthorizeLook(const PeerFacts& peer) const = 0;
  // OK if this peer may look at a job. An empty job_id means all jobs. If the peer may see only its own job, this sets
  // an empty job_id to that job.
  virtual absl::Status AuthorizeLookAt(const PeerFacts& peer, std::string& job_id) const = 0;
  // OK if a stream that was accepted before may stay. Called after the trusted authorities have changed.
  virtual absl::Status CheckStillWelcome(const PeerFacts& peer) const = 0;
  // Adds to `peer` the certificates of the authorities that issued its certificate, as far as they are known.
  // CheckStillWelcome needs them. Call this for a peer that keeps its connection open.
  virtual void AddIssuers(PeerFacts& /*peer*/) const {}
};

// Without TLS, every peer that reaches the port may join and look; only the admin socket may change anything.
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
