#include "common/tls/peer/openssl_handshake.h"

#include <openssl/pem.h>

namespace muster {
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

PeerCertificates PeerOf(X509_STORE_CTX* store_context) {
  PeerCertificates peer;
  if (X509* leaf = X509_STORE_CTX_get0_cert(store_context); leaf != nullptr) peer.leaf = Share(leaf);
  const STACK_OF(X509)* sent = X509_STORE_CTX_get0_untrusted(store_context);
  for (int i = 0; i < sk_X509_num(sent) && peer.others.size() < kMaxShown; ++i)
    peer.others.push_back(Share(sk_X509_value(sent, i)));
  return peer;
}

SSL* ConnectionOf(X509_STORE_CTX* store_context) {
  return static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store_context, SSL_get_ex_data_X509_STORE_CTX_idx()));
}

int VerifyResult(X509_STORE_CTX* store_context, bool is_let_in) {
  X509_STORE_CTX_set_error(store_context, is_let_in ? X509_V_OK : X509_V_ERR_CERT_REJECTED);
  return is_let_in ? 1 : 0;
}

}  // namespace muster
