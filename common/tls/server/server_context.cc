#include "common/tls/server/server_context.h"

#include <openssl/err.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/tls/peer/openssl_handshake.h"

namespace muster {
namespace {

// The ciphers for TLS 1.2 if none are configured: only those with forward secrecy and authenticated encryption (RFC
// 9325, 4.2).
constexpr char kCiphers[] =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:"
    "ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384:ECDHE-RSA-CHACHA20-POLY1305";

std::string AlpnOf(const std::string& protocol) {
  return protocol.empty() ? "" : absl::StrCat(std::string(1, static_cast<char>(protocol.size())), protocol);
}

}  // namespace

TlsServerContext::TlsServerContext(SslContextPtr context, const TlsStore& store, std::shared_ptr<const TlsState> state,
                                   Options options)
    : context_(std::move(context)),
      store_(store),
      state_(std::move(state)),
      options_(std::move(options)),
      offer_(AlpnOf(options_.protocol)) {}

absl::StatusOr<std::shared_ptr<const TlsServerContext>> TlsServerContext::Create(const TlsStore& store,
                                                                                 Options options) {
  std::shared_ptr<const TlsState> state = store.Current();
  SslContextPtr context(SSL_CTX_new(TLS_method()));
  const std::string ciphers = store.ciphers().empty() ? kCiphers : store.ciphers();
  if (context == nullptr || SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1 ||
      SSL_CTX_set_cipher_list(context.get(), ciphers.c_str()) != 1 || !UseIdentity(context.get(), *state->identity)) {
    return absl::InternalError(
        absl::StrCat("the server's side of TLS can't be set up: ", OpenSslReason(TakeOpenSslErrors())));
  }
  const int must_show = options.takes_nameless ? 0 : SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | must_show, nullptr);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
  // SSL_MODE_RELEASE_BUFFERS frees empty buffers: most connections are idle most of the time.
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  std::shared_ptr<TlsServerContext> made(
      new TlsServerContext(std::move(context), store, std::move(state), std::move(options)));
  SSL_CTX_set_cert_verify_callback(made->context_.get(), &TlsServerContext::Verify, made.get());
  if (!made->offer_.empty()) {
    SSL_CTX_set_alpn_select_cb(made->context_.get(), &TlsServerContext::ChooseProtocol, made.get());
  }
  return std::shared_ptr<const TlsServerContext>(std::move(made));
}

SslPtr TlsServerContext::Make(int fd, CheckedClient& client) const {
  SslPtr ssl(SSL_new(context_.get()));
  if (ssl == nullptr || SSL_set_fd(ssl.get(), fd) != 1) return nullptr;
  SSL_set_app_data(ssl.get(), &client);
  return ssl;
}

SslPtr TlsServerContext::Accept(int fd, CheckedClient& client) const {
  SslPtr ssl = Make(fd, client);
  if (ssl != nullptr) SSL_set_accept_state(ssl.get());
  return ssl;
}

SslPtr TlsServerContext::Dial(int fd, CheckedClient& server) const {
  SslPtr ssl = Make(fd, server);
  if (ssl != nullptr) SSL_set_connect_state(ssl.get());
  return ssl;
}

bool TlsServerContext::IsForServers() const {
  return X509_check_purpose(state_->identity->leaf().get(), X509_PURPOSE_SSL_SERVER, 0) == 1;
}

int TlsServerContext::Verify(X509_STORE_CTX* store_context, void* self) {
  CheckedClient& client = *static_cast<CheckedClient*>(SSL_get_app_data(ConnectionOf(store_context)));
  return VerifyResult(store_context, static_cast<const TlsServerContext*>(self)->Check(PeerOf(store_context), client));
}

int TlsServerContext::ChooseProtocol(SSL* /*ssl*/, const unsigned char** chosen, unsigned char* length,
                                     const unsigned char* offered, unsigned int offered_length, void* self) {
  const std::string& own = static_cast<const TlsServerContext*>(self)->offer_;
  unsigned char* found = nullptr;
  const int result = SSL_select_next_proto(&found, length, reinterpret_cast<const unsigned char*>(own.data()),
                                           static_cast<unsigned int>(own.size()), offered, offered_length);
  *chosen = found;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

CheckedPeer TlsServerContext::Judge(const TlsState& now, const PeerRules& rules, const CheckedClient& client) const {
  // verified_ belongs to the authorities of state_. If they have changed, a new context exists for new connections.
  const bool is_of_state = now.trust == state_->trust;
  if (is_of_state) {
    if (std::optional<std::vector<Certificate>> chain = verified_->Find(client.shown, store_.Now())) {
      return CheckVerifiedPeer(*now.trust, rules, *std::move(chain), store_.Now());
    }
  }
  std::vector<Certificate> others(client.shown.begin() + 1, client.shown.end());
  if (options_.intermediates != nullptr) {
    for (Certificate& known : options_.intermediates->All()) others.push_back(std::move(known));
  }
  CheckedPeer peer = CheckPeer(*now.trust, rules, client.shown.front(), others, store_.Now());
  if (is_of_state && peer.refusal.ok()) verified_->Put(client.shown, peer.chain);
  return peer;
}

bool TlsServerContext::Check(const PeerCertificates& shown, CheckedClient& client) const {
  if (!shown.leaf) return false;
  client.shown = {shown.leaf};
  client.shown.insert(client.shown.end(), shown.others.begin(), shown.others.end());
  // Check with the present trust. The trust may have changed since this handshake's context was chosen.
  const std::shared_ptr<const TlsState> now = store_.Current();
  const PeerRules rules = RulesOf(store_, *now, PeerSide::kClient);
  CheckedPeer peer = Judge(*now, rules, client);
  ERR_clear_error();
  if (peer.refusal.ok() && rules.needs_name && options_.only_nodes && !peer.name.IsNode()) {
    peer.refusal = {TlsFault::kOtherRole,
                    absl::StrCat("the certificate is ", peer.name.ToUri(), ", which is not a node's")};
  }
  client.refusal = std::move(peer.refusal);
  if (!client.refusal.ok()) return false;
  if (rules.needs_name) client.name = std::move(peer.name);
  client.chain = std::move(peer.chain);
  if (options_.intermediates != nullptr) options_.intermediates->Learn(client.chain);
  return true;
}

}  // namespace muster
