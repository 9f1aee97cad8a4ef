// A server's side of TLS with OpenSSL: mutual, 1.2 or newer, with the certificates of a TlsStore and the checks that
// all of Muster makes (common/tls/peer/peer_check.h).
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

// The result of one handshake. Must outlive its SSL object.
struct CheckedClient {
  TlsRefusal refusal;
  std::optional<PeerName> name;    // none with --tls_identity=ca-only
  std::vector<Certificate> shown;  // the client's own certificate first
  std::vector<Certificate> chain;  // as verified, its own certificate first
};

// The context for one state of the store; a reload makes another one. Handshakes keep the one that they began with.
// `store` must outlive the context, and the context its SSL objects, as their check of the peer points to it.
//
// There are no session tickets: each connection makes a full handshake, so that no revoked client can resume a session.
class TlsServerContext {
 public:
  struct Options {
    bool takes_nameless = false;             // a client without a certificate is accepted, and has no name
    bool only_nodes = false;                 // a scheduler's or an admin's name is refused
    std::string protocol = {};               // by ALPN (RFC 7301): a client must offer it; empty: any
    Intermediates* intermediates = nullptr;  // help to verify, and learn from each good chain
  };
  static absl::StatusOr<std::shared_ptr<const TlsServerContext>> Create(const TlsStore& store, Options options);

  // For a connected nonblocking socket, which stays the caller's. Returns null if memory is short.
  SslPtr Accept(int fd, CheckedClient& client) const;
  // The same for a connection that this side makes. The other side is checked as a client: so agents can connect to
  // each other with certificates that may be for clients only.
  SslPtr Dial(int fd, CheckedClient& server) const;

  // True if this side's certificate may serve (extended key usage), which clients check: an agent's may be for clients
  // only.
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
  const std::string offer_;  // the protocol, as ALPN writes it
  // Verified with the authorities of state_.
  const std::unique_ptr<VerifiedChains> verified_ = std::make_unique<VerifiedChains>();
};

}  // namespace muster
