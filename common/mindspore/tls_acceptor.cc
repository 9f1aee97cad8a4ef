#include "common/mindspore/tls_acceptor.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/tls/openssl_error.h"
#include "common/tls/peer_check.h"

namespace muster::mindspore {
namespace {

constexpr int kMaxChain = 8;

bool UseIdentity(SSL_CTX* context, const KeyMaterial& identity) {
  const BioPtr bio = MemoryBio(identity.key_pem.text());
  const EvpKeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
  bool is_used = key != nullptr && SSL_CTX_use_certificate(context, identity.leaf().get()) == 1 &&
                 SSL_CTX_use_PrivateKey(context, key.get()) == 1;
  for (size_t i = 1; i < identity.chain.size(); ++i) {
    is_used = is_used && SSL_CTX_add1_chain_cert(context, identity.chain[i].get()) == 1;
  }
  return is_used;
}

Certificate Share(X509* x509) {
  X509_up_ref(x509);
  return Certificate(X509Ptr(x509));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const TlsAcceptor>> TlsAcceptor::Create(const TlsStore& store) {
  std::shared_ptr<const TlsState> state = store.Current();
  SslContextPtr context(SSL_CTX_new(TLS_server_method()));
  if (context == nullptr || SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1 ||
      (!store.ciphers().empty() && SSL_CTX_set_cipher_list(context.get(), store.ciphers().c_str()) != 1) ||
      !UseIdentity(context.get(), *state->identity)) {
    return absl::InternalError(
        absl::StrCat("TLS for MindSpore's frames can't be set up: ", OpenSslReason(TakeOpenSslErrors())));
  }
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  std::shared_ptr<TlsAcceptor> made(new TlsAcceptor(std::move(context), store, std::move(state)));
  SSL_CTX_set_cert_verify_callback(made->context_.get(), &TlsAcceptor::Verify, made.get());
  return std::shared_ptr<const TlsAcceptor>(std::move(made));
}

SslPtr TlsAcceptor::Accept(int fd, CheckedClient& client) const {
  SslPtr ssl(SSL_new(context_.get()));
  if (ssl == nullptr || SSL_set_fd(ssl.get(), fd) != 1) return nullptr;
  SSL_set_app_data(ssl.get(), &client);
  SSL_set_accept_state(ssl.get());
  return ssl;
}

bool TlsAcceptor::IsForServers() const {
  return X509_check_purpose(state_->identity->leaf().get(), X509_PURPOSE_SSL_SERVER, 0) == 1;
}

int TlsAcceptor::Verify(X509_STORE_CTX* store_context, void* self) {
  auto* ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store_context, SSL_get_ex_data_X509_STORE_CTX_idx()));
  CheckedClient& client = *static_cast<CheckedClient*>(SSL_get_app_data(ssl));
  if (static_cast<const TlsAcceptor*>(self)->Check(store_context, client)) {
    X509_STORE_CTX_set_error(store_context, X509_V_OK);
    return 1;
  }
  X509_STORE_CTX_set_error(store_context, X509_V_ERR_CERT_REJECTED);
  return 0;
}

bool TlsAcceptor::Check(X509_STORE_CTX* store_context, CheckedClient& client) const {
  X509* raw = X509_STORE_CTX_get0_cert(store_context);
  if (raw == nullptr) return false;
  std::vector<Certificate> others;
  STACK_OF(X509)* sent = X509_STORE_CTX_get0_untrusted(store_context);
  for (int i = 0; i < sk_X509_num(sent) && i < kMaxChain; ++i) others.push_back(Share(sk_X509_value(sent, i)));
  PeerRules rules;
  rules.peer_is = PeerSide::kClient;
  rules.needs_name = state_->own_name.has_value();
  if (rules.needs_name) rules.trust_domain = state_->own_name->trust_domain;
  rules.serves_expired_lists = store_.settings().crl_expired == "serve";
  // What is trusted now, not when this handshake's certificate was chosen.
  CheckedPeer peer = CheckPeer(*store_.Current()->trust, rules, Share(raw), others, store_.Now());
  ERR_clear_error();
  if (!peer.refusal.ok()) {
    client.refusal = peer.refusal.text;
    return false;
  }
  if (rules.needs_name && !peer.name.IsNode()) {
    client.refusal = absl::StrCat("the certificate is ", peer.name.ToUri(), ", which is none of a node");
    return false;
  }
  if (rules.needs_name) client.name = peer.name;
  client.chain = std::move(peer.chain);
  return true;
}

}  // namespace muster::mindspore
