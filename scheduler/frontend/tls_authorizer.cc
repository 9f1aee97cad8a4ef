#include "scheduler/frontend/tls_authorizer.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/text.h"

namespace muster::scheduler {
namespace {

absl::Status Deny(TlsFault fault, const std::string& text) {
  absl::Status status = absl::PermissionDeniedError(text);
  SetKind(status, FaultName(fault));
  return status;
}

absl::Status CheckJob(const PeerFacts& peer, const std::string& job_id) {
  if (peer.name->CoversJob(job_id)) return absl::OkStatus();
  return Deny(TlsFault::kOtherJob, absl::StrCat("the certificate's name is ", peer.identity, ", which is not for job ",
                                                Quoted(job_id), ": correct MS_JOB_ID, or use that job's certificate"));
}

// Checks the chain as a new handshake would, and that no certificate in it is revoked. `certificates` begins with the
// peer's own. An intermediate authority may have a new certificate for the same key while its old one is revoked; a
// chain with the new one is then good.
TlsRefusal CheckAnew(const TrustBase& trust, const std::vector<Certificate>& certificates, absl::Time now) {
  const std::vector<Certificate> others(certificates.begin() + 1, certificates.end());
  std::vector<Certificate> chain;
  TlsRefusal refusal = CheckChain(trust, PeerSide::kClient, certificates.front(), others, now, &chain);
  return refusal.ok() ? CheckStillGood(trust, chain) : refusal;
}

}  // namespace

void TlsAuthorizer::AddIssuers(PeerFacts& peer) const {
  const std::shared_ptr<const TrustBase> trust = store_.Current()->trust;
  if (peer.knows_issuers || peer.certificates.empty() || !trust->has_lists) return;
  std::vector<Certificate> candidates = trust->authorities;
  for (Certificate& known : intermediates_.All()) candidates.push_back(std::move(known));
  // Trusted certificates come first, because IssuersOf stops at a limit. The certificates that the peer sent come last;
  // if there are too many of them, `are_all` is false.
  candidates.insert(candidates.end(), peer.certificates.begin() + 1, peer.certificates.end());
  Issuers issuers = IssuersOf(peer.certificates.front(), candidates);
  for (Certificate& issuer : issuers.found) peer.certificates.push_back(std::move(issuer));
  peer.knows_issuers = issuers.are_all;
}

absl::Status TlsAuthorizer::CheckStillWelcome(const PeerFacts& given) const {
  if (given.is_unix) return absl::OkStatus();
  if (given.certificates.empty()) return Deny(TlsFault::kNoCertificate, "the connection has no certificate");
  PeerFacts peer = given;
  AddIssuers(peer);
  const std::shared_ptr<const TrustBase> trust = store_.Current()->trust;
  TlsRefusal refusal = CheckStillGood(*trust, peer.certificates);
  const bool is_certain = refusal.ok() && (peer.knows_issuers || !trust->has_lists);
  if (!is_certain) {
    const TlsRefusal anew = CheckAnew(*trust, peer.certificates, store_.Now());
    if (refusal.ok() || anew.ok()) refusal = anew;
  }
  if (!refusal.ok()) return Deny(refusal.fault, refusal.text);
  if (needs_name_ && !peer.name.has_value()) return Deny(TlsFault::kNameMissing, "the certificate has no name");
  return absl::OkStatus();
}

absl::Status TlsAuthorizer::CheckNode(const PeerFacts& peer, const std::string& job_id,
                                      const std::string& node_id) const {
  if (!needs_name_) return absl::OkStatus();
  if (!peer.name->IsNode()) {
    return Deny(TlsFault::kOtherRole,
                absl::StrCat("the certificate's name is ", peer.identity, ", which is not a node's"));
  }
  if (absl::Status status = CheckJob(peer, job_id); !status.ok()) return status;
  if (peer.name->CoversNode(node_id)) return absl::OkStatus();
  return Deny(TlsFault::kOtherNode,
              absl::StrCat("the certificate's name is ", peer.identity, ", but the node calls itself ",
                           node_id.empty() ? "nothing" : Quoted(node_id), ": set MS_NODE_ID to ", peer.name->id));
}

absl::Status TlsAuthorizer::AuthorizeJoin(const PeerFacts& peer, const v1::Join& join) const {
  // Other nodes reach a node at the address that its connection came from, so this must be an IP address.
  if (peer.is_unix) return absl::PermissionDeniedError("nodes join over TCP, not over the admin socket");
  if (peer.address.empty()) return absl::PermissionDeniedError("the address of the node's connection is not known");
  if (absl::Status status = CheckStillWelcome(peer); !status.ok()) return status;
  return CheckNode(peer, join.job_id(), join.node_id());
}

absl::Status TlsAuthorizer::AuthorizeForNode(const PeerFacts& peer, const std::string& job_id,
                                             const std::string& node_id) const {
  if (absl::Status status = CheckStillWelcome(peer); !status.ok()) return status;
  if (peer.is_unix || !needs_name_) return absl::OkStatus();
  return node_id.empty() ? CheckJob(peer, job_id) : CheckNode(peer, job_id, node_id);
}

absl::Status TlsAuthorizer::AuthorizeLook(const PeerFacts& peer) const { return CheckStillWelcome(peer); }

absl::Status TlsAuthorizer::AuthorizeLookAt(const PeerFacts& peer, std::string& job_id) const {
  if (absl::Status status = CheckStillWelcome(peer); !status.ok()) return status;
  if (peer.is_unix || !needs_name_) return absl::OkStatus();
  if (job_id.empty() && peer.name->job != "*") job_id = peer.name->job;
  return job_id.empty() ? absl::OkStatus() : CheckJob(peer, job_id);
}

absl::Status TlsAuthorizer::AuthorizeAdminChange(const PeerFacts& peer, const std::string& job_id) const {
  if (peer.is_unix) return absl::OkStatus();
  if (absl::Status status = CheckStillWelcome(peer); !status.ok()) return status;
  if (needs_name_ && peer.name->kind == PeerName::Kind::kAdmin) return CheckJob(peer, job_id);
  return Deny(
      TlsFault::kNotAnAdmin,
      absl::StrCat("changes are accepted only with an admin's certificate (spiffe://…/muster/*/admin) or over the "
                   "scheduler's Unix socket: run ms-ctl on the scheduler's machine as the user that runs "
                   "ms-scheduler, or as root",
                   needs_name_ ? absl::StrCat("; this certificate's name is ", peer.identity) : ""));
}

}  // namespace muster::scheduler
