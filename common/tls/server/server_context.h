// A server's side of TLS, with OpenSSL: mutual, TLS 1.2 or newer. It uses the certificates of a TlsStore and the checks
// that all of Muster uses (common/tls/peer/peer_check.h).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/tls/material/intermediates.h"
#include "common/tls/peer/verified_chains.h"
#include "common/tls/tls_store.h"

namespace muster {

// The result of one handshake. It must outlive the handshake's SSL object.
struct CheckedClient {
  TlsRefusal refusal;
  std::optional<PeerName> name;    // none with --tls_identity=ca-only
  std::vector<Certificate> shown;  // the client's own certificate first
  std::vector<Certificate> chain;  // the verified chain, the client's own certificate first
};

// The context for one state of the store. A reload makes a new context; a handshake keeps the one that it began with.
// `store` must outlive the context. The context must outlive its SSL objects, because they call it to check the peer.
//
// There are no session tickets: each connection makes a full handshake, so that no revoked client can resume a session.
class TlsServerContext {
 public:
  struct Options {
    bool takes_nameless = false;             // accepts a client without a certificate, which then has no name
    bool only_nodes = false;                 // refuses a certificate with a scheduler's or an admin's name
    std::string protocol = {};               // a client must offer this protocol by ALPN (RFC 7301); empty: any
    Intermediates* intermediates = nullptr;  // used to verify clients; learns from each verified chain
  };
  static absl::StatusOr<std::shared_ptr<const TlsServerContext>> Create(const TlsStore& store, Options options);

  // Returns the TLS object for an accepted, nonblocking socket. The caller keeps the socket. Returns null if memory
  // is short.
  SslPtr Accept(int fd, CheckedClient& client) const;
  // The same for a connection that this side makes. The other side is checked as if it were a client. So agents can
  // connect to each other with certificates that are only for clients.
  SslPtr Dial(int fd, CheckedClient& server) const;

  // True if this side's certificate may be a server's (extended key usage), which clients check. An agent's certificate
  // may be only for clients.
  bool IsForServers() const;

  bool IsOf(const TlsState& state) const { return state_.get() == &state; }

 private:
  TlsServerContext(SslContextPtr context, const TlsStore& store, std::shared_ptr<const TlsState> state,
                   Options options);
  SslPtr Make(int fd, CheckedClient& client) const;
  static int Verify(X509_STORE_CTX* store_context, void* self);
  static int ChooseProtocol(SSL* ssl, const unsigned char** chosen, unsigned char* length, const unsigned char* offered,
                            unsigned int offered_length, void* self);
  bool Check(const PeerCertificates& shown, CheckedClient& client) const;
  CheckedPeer Judge(const TlsState& now, const PeerRules& rules, const CheckedClient& client) const;

  const SslContextPtr context_;
  const TlsStore& store_;
  const std::shared_ptr<const TlsState> state_;
  const Options options_;
  const std::string offer_;  // `protocol` in ALPN's form
  // Chains that were verified with the authorities of state_.
  const std::unique_ptr<VerifiedChains> verified_ = std::make_unique<VerifiedChains>();
};

}  // namespace muster
