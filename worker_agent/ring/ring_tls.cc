#include "worker_agent/ring/ring_tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/tls/openssl_error.h"
#include "common/tls/peer_check.h"

namespace muster::ring {
namespace {

constexpr int kMaxChain = 8;

// The peer's words for "not with this certificate of yours".
constexpr int kCertificateAlerts[] = {SSL_R_SSLV3_ALERT_BAD_CERTIFICATE,      SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED,
                                      SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED,  SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN,
                                      SSL_R_SSLV3_ALERT_NO_CERTIFICATE,       SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE,
                                      SSL_R_TLSV1_ALERT_UNKNOWN_CA,           SSL_R_TLSV1_ALERT_ACCESS_DENIED,
                                      SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED};

bool UseIdentity(SSL_CTX* context, const KeyMaterial& identity) {
  const BioPtr bio = MemoryBio(identity.key_pem.text());
  const EvpKeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, RefusePassphrase, nullptr));
  bool is_used = key != nullptr && SSL_CTX_use_certificate(context, identity.leaf().get()) == 1 &&
                 SSL_CTX_use_PrivateKey(context, key.get()) == 1;
  for (size_t i = 1; i < identity.chain.size(); ++i) {
    is_used = is_used && SSL_CTX_add1_chain_cert(context, identity.chain[i].get()) == 1;
  }
  return is_used;
}

// As people compare them; the whole of it is in `ms-ctl certs list` and the peer list.
std::string Short(const std::string& fingerprint) { return absl::StrCat(fingerprint.substr(0, 16), "…"); }

}  // namespace

absl::StatusOr<std::unique_ptr<RingTls>> RingTls::Create(std::shared_ptr<const TlsState> state, const Plan& plan,
                                                         absl::Time now) {
  const std::string own = state->identity->leaf().Fingerprint();
  if (own != plan.own().fingerprint) {
    return absl::FailedPreconditionError(absl::StrCat(
        "this rank's certificate (", Short(own), ", ", state->identity->leaf().Subject(),
        ") is not the one that its agent "
        "announced when it joined (",
        Short(plan.own().fingerprint),
        "): --tls_config must be the agent's; if the certificate was renewed since, start the agent again"));
  }
  SslContextPtr context(SSL_CTX_new(TLS_method()));
  if (context == nullptr || SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION) != 1 ||
      !UseIdentity(context.get(), *state->identity)) {
    return absl::InternalError(absl::StrCat("TLS can't be set up: ", OpenSslReason(TakeOpenSslErrors())));
  }
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  std::unique_ptr<RingTls> made(new RingTls(std::move(context), std::move(state), now));
  SSL_CTX_set_cert_verify_callback(made->context_.get(), &RingTls::Verify, made.get());
  return made;
}

int RingTls::Verify(X509_STORE_CTX* store_context, void* self) {
  auto* ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store_context, SSL_get_ex_data_X509_STORE_CTX_idx()));
  Pin& pin = *static_cast<Pin*>(SSL_get_app_data(ssl));
  if (static_cast<const RingTls*>(self)->Check(store_context, pin)) {
    X509_STORE_CTX_set_error(store_context, X509_V_OK);
    return 1;
  }
  X509_STORE_CTX_set_error(store_context, X509_V_ERR_CERT_REJECTED);
  return 0;
}

bool RingTls::Check(X509_STORE_CTX* store_context, Pin& pin) const {
  const auto share = [](X509* x509) {
    X509_up_ref(x509);
    return Certificate(X509Ptr(x509));
  };
  X509* raw = X509_STORE_CTX_get0_cert(store_context);
  if (raw == nullptr) return false;
  const Certificate leaf = share(raw);
  const std::string shown = leaf.Fingerprint();
  if (shown != pin.expected) {
    pin.refused = FaultKind::kWrongCertificate;
    pin.detail = absl::StrCat("it shows ", Short(shown), " (", leaf.Subject(), "), listed is ", Short(pin.expected));
    return false;
  }
  std::vector<Certificate> others;
  STACK_OF(X509)* sent = X509_STORE_CTX_get0_untrusted(store_context);
  for (int i = 0; i < sk_X509_num(sent) && i < kMaxChain; ++i) others.push_back(share(sk_X509_value(sent, i)));
  // What is listed is what its agent shows the scheduler, a client's certificate.
  std::vector<Certificate> chain;
  TlsRefusal refusal = CheckChain(*state_->trust, PeerSide::kClient, leaf, others, now_, &chain);
  if (refusal.ok()) refusal = CheckStillGood(*state_->trust, chain);
  ERR_clear_error();
  if (refusal.ok()) return true;
  pin.refused = FaultKind::kBadCertificate;
  pin.detail = refusal.text;
  return false;
}

SslPtr RingTls::Make(int fd, Pin& pin) const {
  SslPtr ssl(SSL_new(context_.get()));
  if (ssl == nullptr || SSL_set_fd(ssl.get(), fd) != 1) return nullptr;
  SSL_set_app_data(ssl.get(), &pin);
  return ssl;
}

SslPtr RingTls::Dial(int fd, Pin& pin) const {
  SslPtr ssl = Make(fd, pin);
  if (ssl != nullptr) SSL_set_connect_state(ssl.get());
  return ssl;
}

SslPtr RingTls::Accept(int fd, Pin& pin) const {
  SslPtr ssl = Make(fd, pin);
  if (ssl != nullptr) SSL_set_accept_state(ssl.get());
  return ssl;
}

HandshakeFault TakeHandshakeFault(const Pin& pin) {
  const std::vector<unsigned long> errors = TakeOpenSslErrors();  // NOLINT(google-runtime-int): OpenSSL's type
  if (pin.refused) return {*pin.refused, pin.detail};
  for (const int alert : kCertificateAlerts) {
    if (HasReason(errors, ERR_LIB_SSL, alert)) {
      return {FaultKind::kCertificateRefused,
              absl::StrCat("it does not take the certificate of this rank (", OpenSslReason(errors), ")")};
    }
  }
  if (errors.empty()) return {FaultKind::kNotTls, "the connection was closed in the TLS handshake"};
  return {FaultKind::kNotTls, absl::StrCat("the TLS handshake failed: ", OpenSslReason(errors))};
}

}  // namespace muster::ring
