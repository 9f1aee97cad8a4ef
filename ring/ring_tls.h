// TLS between neighbours: 1.3 only, with certificates on both sides. A certificate is accepted only if it is the one in
// the peer list (SHA-256 of its DER), is valid now, comes from a trusted authority and is not revoked.
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

// The expected certificate of one handshake, and why another was refused. Lives as long as its SSL object.
struct Pin {
  std::string expected;  // fingerprint
  std::optional<FaultKind> refused;
  std::string detail;
};

class RingTls {
 public:
  // Fails if the own certificate is not the one that the list has for this rank.
  static absl::StatusOr<std::unique_ptr<RingTls>> Create(std::shared_ptr<const TlsState> state, const Plan& plan,
                                                         absl::Time now);

  // `fd` is a connected nonblocking socket and stays the caller's. `pin` must outlive the result.
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

// The reason why this thread's last handshake failed, from OpenSSL's error queue; taking it empties the queue.
struct HandshakeFault {
  FaultKind kind = FaultKind::kNotTls;
  std::string detail;
};
HandshakeFault TakeHandshakeFault(const Pin& pin);

}  // namespace muster::ring
