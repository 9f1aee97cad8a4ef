// Decides whether a peer's certificate is accepted. Thread-safe, no I/O, no clock.
//
// The whole check is OpenSSL's X509_verify_cert (chain, dates, usage, strength of keys and signatures) and, on top, the
// revocation lists and the name. It replaces gRPC's own verification, which doesn't report what is wrong, ignores a
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

// The trusted authorities and their lists. Never changes once it is built; a reload builds another one.
struct TrustBase {
  std::vector<Certificate> authorities;
  X509StorePtr store;       // of the authorities
  X509StorePtr good_store;  // without the intermediates among them that are on a list; null if there are none
  bool has_lists = false;   // crl_path is set
  std::vector<RevocationList> lists;
};

std::shared_ptr<const TrustBase> BuildTrust(std::vector<Certificate> authorities, bool has_lists,
                                            std::vector<RevocationList> lists);

enum class PeerSide { kClient, kServer };

struct PeerRules {
  PeerSide peer_is = PeerSide::kClient;
  bool needs_name = true;             // false: --tls_identity=ca-only
  std::string trust_domain;           // ours, with needs_name
  bool serves_expired_lists = false;  // --crl_expired=serve
  // Rules for a server that we dialed:
  std::string host;  // with needs_name: must be in its certificate
  std::string job;   // that the server's name must cover; empty: any
};

struct CheckedPeer {
  TlsRefusal refusal;
  PeerName name;                   // with needs_name
  std::vector<Certificate> chain;  // as verified, its own certificate first, the authority last
};

// `others`: the peer's other certificates, to build the chain with.
CheckedPeer CheckPeer(const TrustBase& trust, const PeerRules& rules, const Certificate& leaf,
                      const std::vector<Certificate>& others, absl::Time now);
// The same for a chain that is in time and was verified before, with the same authorities.
CheckedPeer CheckVerifiedPeer(const TrustBase& trust, const PeerRules& rules, std::vector<Certificate> chain,
                              absl::Time now);

// Checks chain, dates, usage and strength only. Of several chains, prefers one without revoked intermediates.
TlsRefusal CheckChain(const TrustBase& trust, PeerSide peer_is, const Certificate& leaf,
                      const std::vector<Certificate>& others, absl::Time now, std::vector<Certificate>* chain);

// Checks whether one of these is on a list: for a connection that is open already.
TlsRefusal CheckStillGood(const TrustBase& trust, const std::vector<Certificate>& certificates);

// The most certificates that a peer may show besides its own: an unverified peer must not cost much.
inline constexpr size_t kMaxShown = 8;

// A peer's certificates, from gRPC's PEM texts; `chain` may be empty, and may hold the leaf again.
struct PeerCertificates {
  Certificate leaf;  // none: it can't be read
  std::vector<Certificate> others;
};
PeerCertificates ReadPeer(const std::string& leaf_pem, const std::string& chain_pem);

}  // namespace muster
