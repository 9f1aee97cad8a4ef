// Makes gRPC's credentials from a TlsStore, with a verifier of our own.
//
// gRPC asks the peer for its certificate and makes sure that the peer has the key. Only the verifier decides whether
// the certificate is accepted (common/tls/peer/peer_check.h). It runs on every handshake, even on a resumed one, with
// the trust of that moment.
#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <string>
#include <vector>

#include "common/base/mutex.h"
#include "common/tls/tls_store.h"

namespace muster {

// Sets gRPC's cipher suites. Must be called before the process first uses gRPC. Empty: gRPC's defaults, even if
// GRPC_SSL_CIPHER_SUITES is set in the environment.
void SetGrpcCiphers(const std::string& ciphers);

// Our decision on the peer's certificate in the last handshake of one channel.
class HandshakeResult {
 public:
  void Set(const CheckedPeer& checked);
  // Checks the accepted peer again. Returns false if its certificate has been revoked since; refusal() then says so.
  bool IsStillGood(const TrustBase& trust);
  // True if there was a handshake since the start or the last Forget.
  bool was_asked() const;
  TlsRefusal refusal() const;
  // Call it when later failures can't be due to that handshake: the peer has answered a call, or a new connection
  // begins. The peer is still remembered for IsStillGood.
  void Forget();

 private:
  mutable Mutex mutex_;
  bool was_asked_ ABSL_GUARDED_BY(mutex_) = false;
  TlsRefusal refusal_ ABSL_GUARDED_BY(mutex_);
  std::vector<Certificate> chain_ ABSL_GUARDED_BY(mutex_);  // as verified; empty if the peer was refused
};

// Returns the client's credentials for one channel, from the store's present state. `host` is the name that is
// connected to; `job` may be empty. The decision on the server's certificate goes into `handshake_result`, which may be
// null.
std::shared_ptr<grpc::ChannelCredentials> MakeClientCredentials(std::shared_ptr<const TlsStore> store,
                                                                const std::string& host, const std::string& job,
                                                                std::shared_ptr<HandshakeResult> handshake_result);

// The way in which a client secures its connections to the scheduler.

struct Security {
  std::shared_ptr<const TlsStore> tls;  // null: plain text
  bool requires_tls = false;            // allows plain text only to this machine: see CheckPlaintext
};

}  // namespace muster
