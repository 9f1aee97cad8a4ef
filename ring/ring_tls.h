// TLS between neighbours: only version 1.3, with certificates on both sides. A rank accepts a neighbour's certificate
// only if it is the one in the peer list (which has the SHA-256 of its DER form), is valid now, comes from a trusted
// authority and is not revoked.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/tls/material/openssl.h"
#include "ring/fault.h"
#include "ring/plan.h"

namespace muster {

struct PeerCertificates;
struct TlsState;

}  // namespace muster

namespace muster::ring {

// The certificate that one handshake expects, and the reason if the peer's was refused. Must live as long as the SSL
// object.
struct Pin {
  std::string expected;  // the fingerprint
  std::optional<FaultKind> refused;
  std::string detail;
};

class RingTls {
 public:
  // Fails if this rank's certificate is not the one that the peer list has for it.
  static absl::StatusOr<std::unique_ptr<RingTls>> Create(std::shared_ptr<const TlsState> state, const Plan& plan,
                                                         absl::Time now);

  // Return the client's and the server's side of a connection. `fd`: a connected nonblocking socket, which the caller
  // still owns. `pin` must outlive the result.
  SslPtr Dial(int fd, Pin& pin) const;
  SslPtr Accept(int fd, Pin& pin) const;

 private:
  RingTls(SslContextPtr context, std::shared_ptr<const TlsState> state, absl::Time now)
      : context_(std::move(context)), state_(std::move(state)), now_(now) {}
  static int Verify(X509_STORE_CTX* store_context, void* self);
  bool Check(const PeerCertificates& peer, Pin& pin) const;
  SslPtr Make(int fd, Pin& pin) const;

  const SslContextPtr context_;
  const std::shared_ptr<const TlsState> state_;
  const absl::Time now_;
};

// The reason why a handshake failed.
struct HandshakeFault {
  FaultKind kind = FaultKind::kNotTls;
  std::string detail;
};
// Returns the reason why this thread's last handshake failed: from `pin`, or from OpenSSL's error queue, which it
// empties.
HandshakeFault TakeHandshakeFault(const Pin& pin);

}  // namespace muster::ring
