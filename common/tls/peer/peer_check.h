// Whether a peer's certificate is let in. Thread-safe, no I/O, no clock.
//
// The whole check is OpenSSL's X509_verify_cert (chain, dates, usage, strength of keys and signatures) and, on top, the
// revocation lists and the name. gRPC's own verification is switched off in its favour: that one tells nobody what is
// wrong, ignores a revocation list that is missing or was replaced, and is not asked on a resumed session.
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

// Whom we trust. Not changed once it is built; a reload builds another one.
struct TrustBase {
  std::vector<Certificate> authorities;
  X509StorePtr store;       // of them
  X509StorePtr good_store;  // without the intermediates among them that are on a list; null: there are none
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
  // Of a server that we dialed:
  std::string host;  // with needs_name: must be in its certificate
  std::string job;   // that its name must cover; empty: any
};

struct CheckedPeer {
  TlsRefusal refusal;
  PeerName name;                   // with needs_name
  std::vector<Certificate> chain;  // as verified, its own certificate first, the authority last
};

// `others`: what else the peer sent, to build the chain with.
CheckedPeer CheckPeer(const TrustBase& trust, const PeerRules& rules, const Certificate& leaf,
                      const std::vector<Certificate>& others, absl::Time now);
// The same with a chain that was verified before, with the same authorities, and is in time.
CheckedPeer CheckVerifiedPeer(const TrustBase& trust, const PeerRules& rules, std::vector<Certificate> chain,
                              absl::Time now);

// Chain, dates, usage and strength only. Of several chains one without revoked intermediates is preferred.
TlsRefusal CheckChain(const TrustBase& trust, PeerSide peer_is, const Certificate& leaf,
                      const std::vector<Certificate>& others, absl::Time now, std::vector<Certificate>* chain);

// Whether one of these is on a list: the check of a connection that is open already.
TlsRefusal CheckStillGood(const TrustBase& trust, const std::vector<Certificate>& certificates);

// Of what a peer shows beside its own certificate: who is not let in yet must not cost much.
inline constexpr size_t kMaxShown = 8;

// The PEM texts that gRPC tells of a peer; `chain` may be empty, and may hold the leaf again.
struct PeerCertificates {
  Certificate leaf;  // none: it can't be read
  std::vector<Certificate> others;
};
PeerCertificates ReadPeer(const std::string& leaf_pem, const std::string& chain_pem);

}  // namespace muster
