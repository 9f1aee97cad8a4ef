// With TLS a peer may do what the name in its certificate says.
#pragma once

#include "common/tls/material/intermediates.h"
#include "common/tls/tls_store.h"
#include "scheduler/frontend/authorizer.h"

namespace muster::scheduler {

//   a node joins, says farewell:  node/<id or *> and host/<name>/* of that job
//   the peer list of a job:       any name that covers the job
//   looking at a job:             any name that covers the job
//   looking at the scheduler:     any certificate that is let in
//   changing a run:               admin of that job, or the Unix socket
//
// With --tls_identity=ca-only any certificate of the authority may be any node (MindSpore's way); changes then come
// over the Unix socket only. What is revoked may do nothing, also over a connection that was open before.
class TlsAuthorizer : public Authorizer {
 public:
  // Neither is owned.
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
