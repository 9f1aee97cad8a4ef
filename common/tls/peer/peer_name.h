// The URI name in a certificate, which names its holder. Pure.
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
  // True if its holder may be this node (of a job that it covers). A host's holder may be any node.
  bool CoversNode(const std::string& node_id) const {
    return kind == Kind::kHost || (kind == Kind::kNode && (id == "*" || id == node_id));
  }
  bool IsNode() const { return kind == Kind::kNode || kind == Kind::kHost; }

  std::string ToUri() const;
  bool operator==(const PeerName&) const = default;
};

// True for a valid trust domain.
bool IsTrustDomain(const std::string& text);

struct PeerNameResult {
  TlsRefusal refusal;
  PeerName name;  // when there is no refusal
};

PeerNameResult ParsePeerName(const std::string& uri);

// Returns the certificate's only URI name.
PeerNameResult NameOf(const Certificate& certificate);

}  // namespace muster
