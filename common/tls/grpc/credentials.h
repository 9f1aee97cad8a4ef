// gRPC's credentials from a TlsStore, with a verifier of our own.
//
// gRPC asks for the peer's certificate and makes sure that the peer holds its key. The verifier alone decides whether
// the certificate is good (common/tls/peer/peer_check.h). It runs on every handshake, resumed ones too, with the trust
// of that moment.
#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <string>
#include <vector>

#include "common/base/mutex.h"
#include "common/tls/tls_store.h"

namespace muster {

// Sets gRPC's cipher suites; must be called before the first use of gRPC in the process. Empty: gRPC's defaults, even
// if GRPC_SSL_CIPHER_SUITES is set in the environment.
void SetGrpcCiphers(const std::string& ciphers);

// Our decision on the peer's certificate in the last handshake of a channel.
class HandshakeResult {
 public:
  void Set(const CheckedPeer& checked);
  // Checks the accepted peer again: returns false if it is revoked by now; refusal() says so then.
  bool IsStillGood(const TrustBase& trust);
  // True if there was a handshake, since Forget at least.
  bool was_asked() const;
  TlsRefusal refusal() const;
  // Later failures are not the fault of that handshake: the peer has answered a call, or is dialed again. The peer is
  // still remembered for IsStillGood.
  void Forget();

 private:
  mutable Mutex mutex_;
  bool was_asked_ ABSL_GUARDED_BY(mutex_) = false;
  TlsRefusal refusal_ ABSL_GUARDED_BY(mutex_);
  std::vector<Certificate> chain_ ABSL_GUARDED_BY(mutex_);  // as verified; empty if it was refused
};

// Returns the client's credentials for one channel, with the store's present state. `host` is the dialed name, `job`
// may be empty. Faults of the server's certificate go into `handshake_result`, which may be null.
std::shared_ptr<grpc::ChannelCredentials> MakeClientCredentials(std::shared_ptr<const TlsStore> store,
                                                                const std::string& host, const std::string& job,
                                                                std::shared_ptr<HandshakeResult> handshake_result);

// The security of a client's connections to the scheduler.

struct Security {
  std::shared_ptr<const TlsStore> tls;  // null: plain text
  bool requires_tls = false;            // plain text to this machine only: see CheckPlaintext
};

}  // namespace muster
