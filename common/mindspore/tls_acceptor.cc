#include "common/mindspore/tls_acceptor.h"

#include <openssl/err.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/tls/material/openssl.h"
#include "common/tls/peer/openssl_handshake.h"

namespace muster::mindspore {

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
  CheckedClient& client = *static_cast<CheckedClient*>(SSL_get_app_data(ConnectionOf(store_context)));
  return Verdict(store_context, static_cast<const TlsAcceptor*>(self)->Check(PeerOf(store_context), client));
}

bool TlsAcceptor::Check(const PeerCertificates& shown, CheckedClient& client) const {
  if (!shown.leaf) return false;
  // What is trusted now, not when this handshake's certificate was chosen.
  const std::shared_ptr<const TlsState> now = store_.Current();
  const PeerRules rules = RulesOf(store_, *now, PeerSide::kClient);
  CheckedPeer peer = CheckPeer(*now->trust, rules, shown.leaf, shown.others, store_.Now());
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
