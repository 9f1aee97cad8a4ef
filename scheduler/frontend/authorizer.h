// Authorization of peers. One implementation without TLS, and one that checks certificates.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "muster/v1/rendezvous.pb.h"
#include "scheduler/ingress/peer_facts.h"

namespace muster::scheduler {

// The name that a refusal is counted under, if it is more specific than "not authorized".
void SetKind(absl::Status& status, const std::string& kind);
std::string KindOf(const absl::Status& status);

// Any thread may call it. Errors are PERMISSION_DENIED and say what the peer may do instead.
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
  // OK if this peer may look at a job. An empty job_id means all: it becomes the peer's own job if it may see only
  // that.
  virtual absl::Status AuthorizeLookAt(const PeerFacts& peer, std::string& job_id) const = 0;
  // OK if a stream that was accepted before may stay. Called after the trusted authorities have changed.
  virtual absl::Status CheckStillWelcome(const PeerFacts& peer) const = 0;
  // Adds the authorities above the peer's certificate, as far as they are known, for CheckStillWelcome. Call it for a
  // peer that stays.
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
