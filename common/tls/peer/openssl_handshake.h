// What handshakes that are made by OpenSSL itself have in common: the ring's, and those of our servers
// (common/tls/server). gRPC's clients make their own: common/tls/grpc.
#pragma once

#include <openssl/ssl.h>

#include "common/tls/material/key_material.h"
#include "common/tls/peer/peer_check.h"

namespace muster {

// Shows the certificate with its chain. False: OpenSSL's error queue says why.
bool UseIdentity(SSL_CTX* context, const KeyMaterial& identity);

// For a verify callback (SSL_CTX_set_cert_verify_callback): what the peer showed; of a long chain its beginning only.
PeerCertificates PeerOf(X509_STORE_CTX* store_context);

// The connection whose handshake it is, and what that callback has to leave behind and to return.
SSL* ConnectionOf(X509_STORE_CTX* store_context);
int Verdict(X509_STORE_CTX* store_context, bool is_let_in);

}  // namespace muster
