// Helpers for handshakes that OpenSSL itself makes: the ring's, and those of our servers (common/tls/server). gRPC's
// clients make their own: common/tls/grpc.
#pragma once

#include <openssl/ssl.h>

#include "common/tls/material/key_material.h"
#include "common/tls/peer/peer_check.h"

namespace muster {

// Makes the context show the certificate with its chain. False: OpenSSL's error queue says why.
bool UseIdentity(SSL_CTX* context, const KeyMaterial& identity);

// Returns the certificates that the peer showed, but only the beginning of a long chain. To be called in a verify
// callback (SSL_CTX_set_cert_verify_callback).
PeerCertificates PeerOf(X509_STORE_CTX* store_context);

// ConnectionOf returns the callback's connection. VerifyResult returns the callback's result, and sets the context's
// error.
SSL* ConnectionOf(X509_STORE_CTX* store_context);
int VerifyResult(X509_STORE_CTX* store_context, bool is_let_in);

}  // namespace muster
