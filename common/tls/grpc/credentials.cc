#include "common/tls/grpc/credentials.h"

#include <fcntl.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <functional>
#include <utility>

namespace muster {
namespace {

constexpr char kCipherVariable[] = "GRPC_SSL_CIPHER_SUITES";

std::string ToString(grpc::string_ref text) { return std::string(text.data(), text.size()); }

// Decides at once, because nothing in the decision needs to wait.
class Verifier : public grpc::experimental::ExternalCertificateVerifier {
 public:
  using Judge = std::function<TlsRefusal(const PeerCertificates& peer)>;
  explicit Verifier(Judge judge) : judge_(std::move(judge)) {}

  bool Verify(grpc::experimental::TlsCustomVerificationCheckRequest* request,
              std::function<void(grpc::Status)> /*callback*/, grpc::Status* sync_status) override {
    const std::string leaf = ToString(request->peer_cert());
    TlsRefusal refusal;
    if (leaf.empty()) {
      refusal = {TlsFault::kNoCertificate, "it showed no certificate"};
    } else {
      refusal = judge_(ReadPeer(leaf, ToString(request->peer_cert_full_chain())));
    }
    *sync_status = refusal.ok() ? grpc::Status::OK : grpc::Status(grpc::StatusCode::UNAUTHENTICATED, refusal.text);
    return true;
  }
  void Cancel(grpc::experimental::TlsCustomVerificationCheckRequest* /*request*/) override {}

 private:
  const Judge judge_;
};

}  // namespace

void SetGrpcCiphers(const std::string& ciphers) {
  if (ciphers.empty()) {
    unsetenv(kCipherVariable);
  } else {
    setenv(kCipherVariable, ciphers.c_str(), 1);
  }
}

void HandshakeResult::Set(const CheckedPeer& checked) {
  MutexLock lock(mutex_);
  refusal_ = checked.refusal;
  was_asked_ = true;
  chain_ = checked.chain;
}

bool HandshakeResult::IsStillGood(const TrustBase& trust) {
  MutexLock lock(mutex_);
  if (refusal_.ok()) refusal_ = CheckStillGood(trust, chain_);
  return refusal_.ok();
}

bool HandshakeResult::was_asked() const {
  MutexLock lock(mutex_);
  return was_asked_;
}

void HandshakeResult::Forget() {
  MutexLock lock(mutex_);
  was_asked_ = false;
  refusal_ = {};
}

TlsRefusal HandshakeResult::refusal() const {
  MutexLock lock(mutex_);
  return refusal_;
}

std::shared_ptr<grpc::ChannelCredentials> MakeClientCredentials(std::shared_ptr<const TlsStore> store,
                                                                const std::string& host, const std::string& job,
                                                                std::shared_ptr<HandshakeResult> handshake_result) {
  const std::shared_ptr<const TlsState> state = store->Current();
  grpc::experimental::IdentityKeyCertPair pair{state->identity->key_pem.text(), state->identity->ChainPem()};
  const auto provider = std::make_shared<grpc::experimental::StaticDataCertificateProvider>(
      state->AuthoritiesPem(), std::vector<grpc::experimental::IdentityKeyCertPair>{pair});
  Wipe(pair.private_key);
  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(provider);
  options.watch_identity_key_cert_pairs();
  options.watch_root_certs();
  options.set_verify_server_certs(false);
  options.set_check_call_host(false);
  options.set_certificate_verifier(grpc::experimental::ExternalCertificateVerifier::Create<Verifier>(
      [store = std::move(store), host, job,
       handshake_result = std::move(handshake_result)](const PeerCertificates& peer) {
        std::shared_ptr<const TlsState> now = store->Current();
        while (true) {
          PeerRules rules = RulesOf(*store, *now, PeerSide::kServer);
          rules.host = host;
          rules.job = job;
          CheckedPeer checked = CheckPeer(*now->trust, rules, peer.leaf, peer.others, store->Now());
          if (handshake_result != nullptr) handshake_result->Set(checked);
          // A reload of the files checks the result again. It may have done so just before Set, so compare the states
          // here.
          std::shared_ptr<const TlsState> next = store->Current();
          if (next == now) return std::move(checked.refusal);
          now = std::move(next);
        }
      }));
  return grpc::experimental::TlsCredentials(options);
}

}  // namespace muster
