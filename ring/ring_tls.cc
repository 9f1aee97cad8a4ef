#include "ring/ring_tls.h"

#include <openssl/err.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/tls/material/openssl.h"
#include "common/tls/peer/openssl_handshake.h"
#include "common/tls/tls_store.h"

namespace muster::ring {
namespace {

// The alerts by which a peer refuses our certificate.
constexpr int kCertificateAlerts[] = {SSL_R_SSLV3_ALERT_BAD_CERTIFICATE,      SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED,
                                      SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED,  SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN,
                                      SSL_R_SSLV3_ALERT_NO_CERTIFICATE,       SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE,
                                      SSL_R_TLSV1_ALERT_UNKNOWN_CA,           SSL_R_TLSV1_ALERT_ACCESS_DENIED,
                                      SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED};

// Returns the first digits, which people can compare with the full fingerprint in `ms-ctl certs list` and the peer
// list.
std::string Short(const std::string& fingerprint) { return absl::StrCat(fingerprint.substr(0, 16), "…"); }

}  // namespace

absl::StatusOr<std::unique_ptr<RingTls>> RingTls::Create(std::shared_ptr<const TlsState> state, const Plan& plan,
                                                         absl::Time now) {
  const std::string own = state->identity->leaf().Fingerprint();
  if (own != plan.own().fingerprint) {
    return absl::FailedPreconditionError(absl::StrCat("this rank's certificate (", Short(own), ", ",
                                                      state->identity->leaf().Subject(),
                                                      ") is not the one that its agent "
                                                      "showed when the round began (",
                                                      Short(plan.own().fingerprint),
                                                      "): --tls_config must be the agent's; a certificate that was "
                                                      "renewed since then counts from the next round on"));
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
  Pin& pin = *static_cast<Pin*>(SSL_get_app_data(ConnectionOf(store_context)));
  return VerifyResult(store_context, static_cast<const RingTls*>(self)->Check(PeerOf(store_context), pin));
}

bool RingTls::Check(const PeerCertificates& peer, Pin& pin) const {
  if (!peer.leaf) return false;
  const std::string shown = peer.leaf.Fingerprint();
  if (shown != pin.expected) {
    pin.refused = FaultKind::kWrongCertificate;
    pin.detail =
        absl::StrCat("it shows ", Short(shown), ", listed is ", Short(pin.expected),
                     ": if the certificate was renewed since the round began, start its agent again, so that the next "
                     "peer list has the new one; otherwise it is not the listed peer (",
                     peer.leaf.Subject(), ")");
    return false;
  }
  // Check it as a client's certificate, also when the peer is the server: the list has the certificate that the peer's
  // agent shows the scheduler as a client.
  std::vector<Certificate> chain;
  TlsRefusal refusal = CheckChain(*state_->trust, PeerSide::kClient, peer.leaf, peer.others, now_, &chain);
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
              absl::StrCat("it does not accept the certificate of this rank (", OpenSslReason(errors), ")")};
    }
  }
  if (errors.empty()) return {FaultKind::kNotTls, "the connection was closed in the TLS handshake"};
  return {FaultKind::kNotTls, absl::StrCat("the TLS handshake failed: ", OpenSslReason(errors))};
}

}  // namespace muster::ring
