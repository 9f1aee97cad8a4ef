// gRPC's credentials out of a TlsStore, with a verifier of our own.
//
// gRPC asks for the peer's certificate and makes sure that the peer holds its key; whether the certificate is good is
// for the verifier alone (common/tls/peer/peer_check.h), which runs on every handshake, resumed ones too, with what is
// trusted at that moment.
#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <string>
#include <vector>

#include "common/base/mutex.h"
#include "common/tls/tls_store.h"

namespace muster {

// Must be called before the first use of gRPC in the process: tells it the cipher suites. Empty: its defaults, whatever
// the environment has in GRPC_SSL_CIPHER_SUITES.
void TellGrpcCiphers(const std::string& ciphers);

// What we said to the peer's certificate in the last handshake of a channel.
class HandshakeVerdict {
 public:
  void Set(const CheckedPeer& checked);
  // Asks once more about the peer that was let in: false if it is revoked by now; refusal() says so then.
  bool IsStillGood(const TrustBase& trust);
  // Whether there was a handshake, since Forget at least.
  bool was_asked() const;
  TlsRefusal refusal() const;
  // What fails from now on is not the fault of that handshake: the peer has answered a call, or is dialed anew. The
  // peer is remembered for IsStillGood.
  void Forget();

 private:
  mutable Mutex mutex_;
  bool was_asked_ ABSL_GUARDED_BY(mutex_) = false;
  TlsRefusal refusal_ ABSL_GUARDED_BY(mutex_);
  std::vector<Certificate> chain_ ABSL_GUARDED_BY(mutex_);  // as verified; empty when it was refused
};

// The client's side, for one channel, with what the store holds now. `host` is the name that was dialed, `job` may be
// empty; what is wrong with the server's certificate comes into `verdict`, which may be null.
std::shared_ptr<grpc::ChannelCredentials> MakeClientCredentials(std::shared_ptr<const TlsStore> store,
                                                                const std::string& host, const std::string& job,
                                                                std::shared_ptr<HandshakeVerdict> verdict);

// How a client's connections to the scheduler are secured.

struct Security {
  std::shared_ptr<const TlsStore> tls;  // null: plain text
  bool requires_tls = false;            // plain text to this machine only: see CheckPlaintext
};

}  // namespace muster
