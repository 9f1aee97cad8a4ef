// What a server needs for its side of TLS by OpenSSL: mutual, 1.2 or newer, with the certificates of a TlsStore and the
// checks that all of Muster makes (common/tls/peer/peer_check.h).
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

// What one handshake found. Must outlive its SSL object.
struct CheckedClient {
  TlsRefusal refusal;
  std::optional<PeerName> name;    // none with --tls_identity=ca-only
  std::vector<Certificate> shown;  // its own first
  std::vector<Certificate> chain;  // as verified, its own first
};

// Of one state of the store; a reload makes another one. Handshakes keep the one that they began with. `store` must
// outlive it, and it its SSL objects, whose check of the peer points to it.
//
// There are no session tickets: each connection shakes hands in full, so that nobody who was revoked comes back by one.
class TlsServerContext {
 public:
  struct Options {
    bool takes_nameless = false;             // a client without a certificate is let in, and has no name
    bool only_nodes = false;                 // a scheduler's or an admin's name is refused
    std::string protocol = {};               // by ALPN (RFC 7301): a client must offer it; empty: whatever it offers
    Intermediates* intermediates = nullptr;  // help to verify, and learn of each good chain
  };
  static absl::StatusOr<std::shared_ptr<const TlsServerContext>> Create(const TlsStore& store, Options options);

  // For a connected nonblocking socket, which stays the caller's. Null when memory is short.
  SslPtr Accept(int fd, CheckedClient& client) const;
  // Likewise, for one that this side connects. The other side is checked as a client is: so agents speak with each
  // other, whose certificates may be for clients only.
  SslPtr Dial(int fd, CheckedClient& server) const;

  // Whether this side's certificate may serve (extended key usage), which clients check: an agent's may be for clients
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
  // With the authorities of state_.
  const std::unique_ptr<VerifiedChains> verified_ = std::make_unique<VerifiedChains>();
};

}  // namespace muster
