// Helpers for handshakes that our code makes with OpenSSL: those of the ring and of our servers (common/tls/server). In
// our clients, gRPC makes the handshakes: common/tls/grpc.
#pragma once

#include <openssl/ssl.h>

#include "common/tls/material/key_material.h"
#include "common/tls/peer/peer_check.h"

namespace muster {

// Makes the context use this key, certificate and chain. Returns false if that fails; OpenSSL's error queue then says
// why.
bool UseIdentity(SSL_CTX* context, const KeyMaterial& identity);

// Returns the certificates that the peer showed; of a long chain only the beginning. For use in a verify callback
// (SSL_CTX_set_cert_verify_callback).
PeerCertificates PeerOf(X509_STORE_CTX* store_context);

// A verify callback calls these. ConnectionOf returns the connection. VerifyResult sets the context's error and returns
// the callback's result.
SSL* ConnectionOf(X509_STORE_CTX* store_context);
int VerifyResult(X509_STORE_CTX* store_context, bool is_let_in);

}  // namespace muster
