// The URI name in a certificate, which says who or what the certificate is for. Pure.
#pragma once

#include <string>

#include "common/tls/material/certificate.h"
#include "common/tls/peer/tls_fault.h"

namespace muster {

inline constexpr size_t kMaxTrustDomainBytes = 255;
inline constexpr size_t kMaxPeerNameBytes = 768;  // more than the longest name that the syntax allows

struct PeerName {
  enum class Kind { kNode, kHost, kScheduler, kAdmin };
  Kind kind = Kind::kNode;
  std::string trust_domain;
  std::string job;  // "*": any job
  std::string id;   // of a node ("*": any) or a host

  bool CoversJob(const std::string& job_id) const { return job == "*" || job == job_id; }
  // True if the certificate's holder may be this node, in a job that the name covers. The holder of a host's
  // certificate may be any node.
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
  PeerName name;  // set if there is no refusal
};

PeerNameResult ParsePeerName(const std::string& uri);

// Returns the certificate's only URI name.
PeerNameResult NameOf(const Certificate& certificate);

}  // namespace muster
