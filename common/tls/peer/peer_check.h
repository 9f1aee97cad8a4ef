// Decides whether a peer's certificate is accepted. Thread-safe; no I/O, no clock.
//
// The check consists of OpenSSL's X509_verify_cert (chain, dates, usage, strength of keys and signatures), then the
// revocation lists, then the name. It replaces gRPC's own verification, which doesn't report what is wrong, ignores a
// missing or replaced revocation list, and doesn't run on a resumed session.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/tls/material/certificate.h"
#include "common/tls/material/revocation_list.h"
#include "common/tls/peer/peer_name.h"
#include "common/tls/peer/tls_fault.h"

namespace muster {

// The trusted authorities and their revocation lists. Never changes once it is built; a reload builds a new one.
struct TrustBase {
  std::vector<Certificate> authorities;
  X509StorePtr store;       // has all authorities
  X509StorePtr good_store;  // has the authorities without revoked intermediates; null if none is revoked
  bool has_lists = false;   // crl_path is set
  std::vector<RevocationList> lists;
};

std::shared_ptr<const TrustBase> BuildTrust(std::vector<Certificate> authorities, bool has_lists,
                                            std::vector<RevocationList> lists);

enum class PeerSide { kClient, kServer };

struct PeerRules {
  PeerSide peer_is = PeerSide::kClient;
  bool needs_name = true;             // false: --tls_identity=ca-only
  std::string trust_domain;           // our own trust domain, if needs_name
  bool serves_expired_lists = false;  // --crl_expired=serve
  // Rules for a server to which we connect:
  std::string host;  // if needs_name: must be in the server's certificate
  std::string job;   // the server's name must cover this job; empty: any job
};

struct CheckedPeer {
  TlsRefusal refusal;
  PeerName name;                   // set if needs_name
  std::vector<Certificate> chain;  // the verified chain: the peer's own certificate first, the authority last
};

// Checks everything. `others` are the peer's other certificates, which may be needed to build the chain.
CheckedPeer CheckPeer(const TrustBase& trust, const PeerRules& rules, const Certificate& leaf,
                      const std::vector<Certificate>& others, absl::Time now);
// As CheckPeer, for a chain that was verified before with the same authorities and is still within its dates.
CheckedPeer CheckVerifiedPeer(const TrustBase& trust, const PeerRules& rules, std::vector<Certificate> chain,
                              absl::Time now);

// Checks only chain, dates, usage and strength. If several chains are possible, prefers one without revoked
// intermediates.
TlsRefusal CheckChain(const TrustBase& trust, PeerSide peer_is, const Certificate& leaf,
                      const std::vector<Certificate>& others, absl::Time now, std::vector<Certificate>* chain);

// Checks whether one of these certificates is revoked. For a connection that is already open.
TlsRefusal CheckStillGood(const TrustBase& trust, const std::vector<Certificate>& certificates);

// The most certificates that a peer may show besides its own. The limit keeps the cost of an unverified peer low.
inline constexpr size_t kMaxShown = 8;

// A peer's certificates. ReadPeer makes them from gRPC's PEM texts; `chain_pem` may be empty, and may contain the leaf
// again.
struct PeerCertificates {
  Certificate leaf;  // holds none if it can't be read
  std::vector<Certificate> others;
};
PeerCertificates ReadPeer(const std::string& leaf_pem, const std::string& chain_pem);

}  // namespace muster
