// With TLS, the name in a peer's certificate decides what it may do.
#pragma once

#include "common/tls/material/intermediates.h"
#include "common/tls/tls_store.h"
#include "scheduler/frontend/authorizer.h"

namespace muster::scheduler {

//   action                                names that may do it
//
//   a node joins, sends its last report:  node/<id or *> and host/<name>/* of that job
//   the peer list of a job:               any name that covers the job
//   looking at a job:                     any name that covers the job
//   looking at the scheduler:             any accepted certificate
//   changing a run:                       admin of that job, or the Unix socket
//
// With --tls_identity=ca-only a peer with any certificate of the authority may join as any node, as in MindSpore;
// changes are then possible only over the Unix socket. A peer with a revoked certificate may do nothing, even over a
// connection that it opened before the revocation.
class TlsAuthorizer : public Authorizer {
 public:
  // Owns neither argument.
  TlsAuthorizer(const TlsStore& store, const Intermediates& intermediates)
      : store_(store), intermediates_(intermediates), needs_name_(store.settings().needs_name()) {}

  absl::Status AuthorizeJoin(const PeerFacts& peer, const v1::Join& join) const override;
  absl::Status AuthorizeForNode(const PeerFacts& peer, const std::string& job_id,
                                const std::string& node_id) const override;
  absl::Status AuthorizeLook(const PeerFacts& peer) const override;
  absl::Status AuthorizeLookAt(const PeerFacts& peer, std::string& job_id) const override;
  absl::Status AuthorizeAdminChange(const PeerFacts& peer, const std::string& job_id) const override;
  absl::Status CheckStillWelcome(const PeerFacts& peer) const override;
  void AddIssuers(PeerFacts& peer) const override;

 private:
  absl::Status CheckNode(const PeerFacts& peer, const std::string& job_id, const std::string& node_id) const;

  const TlsStore& store_;
  const Intermediates& intermediates_;
  const bool needs_name_;
};

}  // namespace muster::scheduler
