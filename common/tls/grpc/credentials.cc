#include "common/tls/grpc/credentials.h"

#include <fcntl.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/sys/secret_descriptor.h"

namespace muster {
namespace {

constexpr unsigned int kRefreshSeconds = 1;
constexpr char kCipherVariable[] = "GRPC_SSL_CIPHER_SUITES";

std::string ToString(grpc::string_ref text) { return std::string(text.data(), text.size()); }

// Verdicts come at once: there is nothing to wait for.
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

// Handshakes may outlive the server that they are for: what judges them is left alone once it is closed.
class Gate {
 public:
  bool Enter() {
    MutexLock lock(mutex_);
    if (is_closed_) return false;
    ++inside_;
    return true;
  }
  void Leave() {
    MutexLock lock(mutex_);
    if (--inside_ == 0) empty_.NotifyAll();
  }
  // Nobody is inside when this has returned, nor comes in later.
  void Close() {
    MutexLock lock(mutex_);
    is_closed_ = true;
    while (inside_ > 0) empty_.Wait(mutex_);
  }

 private:
  Mutex mutex_;
  CondVar empty_;
  int inside_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
};

// A file in memory, without a name anywhere, that others of this process can open by a path. Its time of change is set
// to a number of ours: gRPC compares it in seconds to tell whether it read two halves of different pairs.
absl::StatusOr<int> PutIntoMemoryFile(const std::string& bytes, uint64_t generation) {
  const absl::StatusOr<int> made = MakeMemoryFile("muster-tls", bytes);
  if (!made.ok()) return absl::ResourceExhaustedError(absl::StrCat("TLS can't be served: ", made.status().message()));
  const int fd = *made;
  const timespec when{static_cast<time_t>(generation + 1), 0};
  const timespec times[2] = {when, when};
  futimens(fd, times);
  fchmod(fd, 0600);
  return fd;
}

std::string PathOf(int fd) { return absl::StrCat("/proc/self/fd/", fd); }

}  // namespace

void TellGrpcCiphers(const std::string& ciphers) {
  if (ciphers.empty()) {
    unsetenv(kCipherVariable);
  } else {
    setenv(kCipherVariable, ciphers.c_str(), 1);
  }
}

TlsFault FaultInGrpcLog(const std::string& line) {
  if (!absl::StrContains(line, "Handshake failed")) return TlsFault::kNone;
  if (absl::StrContains(line, "peer did not return a certificate")) return TlsFault::kNoCertificate;
  if (absl::StrContains(line, "unsupported protocol") || absl::StrContains(line, "wrong version number") ||
      absl::StrContains(line, "version too low")) {
    return TlsFault::kOldVersion;
  }
  if (absl::StrContains(line, "no shared cipher")) return TlsFault::kNoSharedCipher;
  return TlsFault::kHandshakeFailed;
}

// gRPC 1.51 takes a server's certificate from a provider, and the only one that ever changes reads files, key and chain
// each for itself. Both stand in one file here, so that no pair of different halves can be read; the file is a
// descriptor that is replaced in one step (dup2), so that keys are never on a disk.
class ServerTls::Impl {
 public:
  Impl(const TlsStore& store, CountedLog& counted) : store_(store), counted_(counted) {}
  ~Impl() {
    gate_->Close();
    if (identity_fd_ >= 0) close(identity_fd_);
    if (authorities_fd_ >= 0) close(authorities_fd_);
  }

  absl::Status Begin() {
    if (absl::Status status = Refresh(); !status.ok()) return status;
    const auto provider = std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
        PathOf(identity_fd_), PathOf(identity_fd_), PathOf(authorities_fd_), kRefreshSeconds);
    grpc::experimental::TlsServerCredentialsOptions options(provider);
    options.watch_identity_key_cert_pairs();
    options.watch_root_certs();
    options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_BUT_DONT_VERIFY);
    options.set_certificate_verifier(grpc::experimental::ExternalCertificateVerifier::Create<Verifier>(
        [this, gate = gate_](const PeerCertificates& peer) {
          if (!gate->Enter()) return TlsRefusal{TlsFault::kHandshakeFailed, "the scheduler is going down"};
          TlsRefusal refusal = Judge(peer);
          if (!refusal.ok()) {
            counted_.Note(Severity::kWarning, FaultName(refusal.fault),
                          absl::StrCat("refused a connection: ", refusal.text));
          }
          gate->Leave();
          return refusal;
        }));
    credentials_ = grpc::experimental::TlsServerCredentials(options);
    return absl::OkStatus();
  }

  std::shared_ptr<grpc::ServerCredentials> credentials() const { return credentials_; }
  const Intermediates& intermediates() const { return intermediates_; }

  absl::Status Refresh() {
    const std::shared_ptr<const TlsState> state = store_.Current();
    std::string pair = absl::StrCat(state->identity->key_pem.text(), state->identity->ChainPem());
    absl::Status status = Replace(identity_fd_, pair, state->identity_generation);
    Wipe(pair);
    if (!status.ok()) return status;
    return Replace(authorities_fd_, state->AuthoritiesPem(), state->trust_generation);
  }

 private:
  TlsRefusal Judge(const PeerCertificates& peer) {
    const std::shared_ptr<const TlsState> state = store_.Current();
    std::vector<Certificate> others = peer.others;
    for (Certificate& known : intermediates_.All()) others.push_back(std::move(known));
    CheckedPeer checked =
        CheckPeer(*state->trust, RulesOf(store_, *state, PeerSide::kClient), peer.leaf, others, store_.Now());
    if (checked.refusal.ok()) intermediates_.Learn(checked.chain);
    return std::move(checked.refusal);
  }

  static absl::Status Replace(int& fd, const std::string& bytes, uint64_t generation) {
    absl::StatusOr<int> made = PutIntoMemoryFile(bytes, generation);
    if (!made.ok()) return made.status();
    if (fd < 0) {
      fd = *made;
      return absl::OkStatus();
    }
    const bool is_replaced = dup3(*made, fd, O_CLOEXEC) >= 0;
    const int error = errno;
    close(*made);
    if (!is_replaced) return absl::InternalError(absl::StrCat("dup3: ", std::strerror(error)));
    return absl::OkStatus();
  }

  const TlsStore& store_;
  CountedLog& counted_;
  Intermediates intermediates_;
  const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
  int identity_fd_ = -1;
  int authorities_fd_ = -1;
  std::shared_ptr<grpc::ServerCredentials> credentials_;
};

ServerTls::ServerTls(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ServerTls::~ServerTls() = default;

absl::StatusOr<std::unique_ptr<ServerTls>> ServerTls::Create(const TlsStore& store, CountedLog& counted) {
  auto impl = std::make_unique<Impl>(store, counted);
  if (absl::Status status = impl->Begin(); !status.ok()) return status;
  return std::unique_ptr<ServerTls>(new ServerTls(std::move(impl)));
}

std::shared_ptr<grpc::ServerCredentials> ServerTls::credentials() const { return impl_->credentials(); }
const Intermediates& ServerTls::intermediates() const { return impl_->intermediates(); }
absl::Status ServerTls::Refresh() { return impl_->Refresh(); }

void HandshakeVerdict::Set(const CheckedPeer& checked) {
  MutexLock lock(mutex_);
  refusal_ = checked.refusal;
  was_asked_ = true;
  chain_ = checked.chain;
}

bool HandshakeVerdict::IsStillGood(const TrustBase& trust) {
  MutexLock lock(mutex_);
  if (refusal_.ok()) refusal_ = CheckStillGood(trust, chain_);
  return refusal_.ok();
}

bool HandshakeVerdict::was_asked() const {
  MutexLock lock(mutex_);
  return was_asked_;
}

void HandshakeVerdict::Forget() {
  MutexLock lock(mutex_);
  was_asked_ = false;
  refusal_ = {};
}

TlsRefusal HandshakeVerdict::refusal() const {
  MutexLock lock(mutex_);
  return refusal_;
}

std::shared_ptr<grpc::ChannelCredentials> MakeClientCredentials(std::shared_ptr<const TlsStore> store,
                                                                const std::string& host, const std::string& job,
                                                                std::shared_ptr<HandshakeVerdict> verdict) {
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
      [store = std::move(store), host, job, verdict = std::move(verdict)](const PeerCertificates& peer) {
        std::shared_ptr<const TlsState> now = store->Current();
        while (true) {
          PeerRules rules = RulesOf(*store, *now, PeerSide::kServer);
          rules.host = host;
          rules.job = job;
          CheckedPeer checked = CheckPeer(*now->trust, rules, peer.leaf, peer.others, store->Now());
          if (verdict != nullptr) verdict->Set(checked);
          // Whoever changes the state asks the verdict once more, but may have asked before it was set.
          std::shared_ptr<const TlsState> next = store->Current();
          if (next == now) return std::move(checked.refusal);
          now = std::move(next);
        }
      }));
  return grpc::experimental::TlsCredentials(options);
}

}  // namespace muster
