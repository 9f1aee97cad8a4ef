// The server's side of TLS for MindSpore's frames: mutual, 1.2 or newer, with the certificates of a TlsStore and the
// checks that all of Muster makes (common/tls/peer/peer_check.h).
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/tls/material/openssl.h"
#include "common/tls/tls_store.h"

namespace muster::mindspore {

using SslPtr = std::unique_ptr<SSL, OpenSslDelete<SSL_free>>;
using SslContextPtr = std::unique_ptr<SSL_CTX, OpenSslDelete<SSL_CTX_free>>;

// What one handshake found. Must outlive its SSL object.
struct CheckedClient {
  std::optional<PeerName> name;
  std::vector<Certificate> chain;  // as verified
  std::string refusal;             // empty: none
};

// Of one state of the store; a reload makes another one. Handshakes keep the one that they began with. `store` must
// outlive it, and it its SSL objects, whose check of the peer points to it.
class TlsAcceptor {
 public:
  static absl::StatusOr<std::shared_ptr<const TlsAcceptor>> Create(const TlsStore& store);

  // For a connected nonblocking socket, which stays the caller's. Null when memory is short.
  SslPtr Accept(int fd, CheckedClient& client) const;

  // Whether this side's certificate may serve (extended key usage), which clients check: an agent's may be for clients
  // only.
  bool IsForServers() const;

  bool IsOf(const TlsState& state) const { return state_.get() == &state; }

 private:
  TlsAcceptor(SslContextPtr context, const TlsStore& store, std::shared_ptr<const TlsState> state)
      : context_(std::move(context)), store_(store), state_(std::move(state)) {}
  static int Verify(X509_STORE_CTX* store_context, void* self);
  bool Check(const PeerCertificates& shown, CheckedClient& client) const;

  const SslContextPtr context_;
  const TlsStore& store_;
  const std::shared_ptr<const TlsState> state_;
};

}  // namespace muster::mindspore
