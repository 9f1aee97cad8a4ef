// The URI name in a certificate, which says who its holder is. Pure.
//
//   spiffe://<trust domain>/muster/<job or *>/node/<id or *>    a node of that job (* any job, any id)
//   spiffe://<trust domain>/muster/<job or *>/host/<name>/*     every node of that host: several agents share one
//   spiffe://<trust domain>/muster/<job or *>/scheduler         a scheduler
//   spiffe://<trust domain>/muster/<job or *>/admin             ms-ctl, for calls that change something
//
// A trust domain is 1 to 255 of a-z 0-9 . - _; jobs, ids and host names are 1 to 128 of A-Z a-z 0-9 . _ : @ -, but
// neither "." nor ".."; nothing is percent-encoded, nothing is case-folded, there is no user, port, query or fragment.
#pragma once

#include <string>

#include "common/tls/material/certificate.h"
#include "common/tls/peer/tls_fault.h"

namespace muster {

inline constexpr size_t kMaxTrustDomainBytes = 255;
inline constexpr size_t kMaxPeerNameBytes = 768;  // more than the longest that the grammar allows

struct PeerName {
  enum class Kind { kNode, kHost, kScheduler, kAdmin };
  Kind kind = Kind::kNode;
  std::string trust_domain;
  std::string job;  // "*": any
  std::string id;   // of a node ("*": any) or a host

  bool CoversJob(const std::string& job_id) const { return job == "*" || job == job_id; }
  // Whether its holder may be this node (of a job that it covers). A host's may be any.
  bool CoversNode(const std::string& node_id) const {
    return kind == Kind::kHost || (kind == Kind::kNode && (id == "*" || id == node_id));
  }
  bool IsNode() const { return kind == Kind::kNode || kind == Kind::kHost; }

  std::string ToUri() const;
  bool operator==(const PeerName&) const = default;
};

// What may stand as the trust domain.
bool IsTrustDomain(const std::string& text);

struct PeerNameResult {
  TlsRefusal refusal;
  PeerName name;  // when there is no refusal
};

PeerNameResult ParsePeerName(const std::string& uri);

// The one URI name of the certificate.
PeerNameResult NameOf(const Certificate& certificate);

}  // namespace muster
