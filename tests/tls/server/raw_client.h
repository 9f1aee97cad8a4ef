// A TLS client made by hand, for what no Muster client does: old versions, odd ciphers, weak keys, resumed sessions.
#pragma once

#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/tls/material/openssl.h"
#include "tests/tls/pki.h"

namespace muster::testing_tls {

using SslSessionPtr = std::unique_ptr<SSL_SESSION, OpenSslDelete<SSL_SESSION_free>>;

struct RawOptions {
  const Issued* certificate = nullptr;  // null: shows none
  int lowest = TLS1_2_VERSION;
  int highest = TLS1_3_VERSION;
  std::string ciphers = "DEFAULT:@SECLEVEL=0";  // up to TLS 1.2
  SSL_SESSION* session = nullptr;               // the session to resume
};

struct RawResult {
  bool is_let_in = false;  // the server answered our preface with its SETTINGS (RFC 9113, 3.4)
  bool was_resumed = false;
  std::string server_fingerprint;
  std::string error;      // from OpenSSL, when the handshake failed
  SslSessionPtr session;  // can be resumed; may be null
};

// Connects, does the handshake, sends the preface of HTTP/2, and waits for the server's SETTINGS or its end, at most 10
// s.
RawResult RawConnect(uint16_t port, const RawOptions& options);

// The bytes of a TLS 1.2 ClientHello with these cipher suites, made by hand, because OpenSSL can't offer some of them.
std::string HelloOf(const std::vector<uint16_t>& suites);

// Sends it. Returns the type of the server's first record (22: the handshake goes on), 0 if the server ends the
// connection, -1 if it does neither within 10 s.
int RawHello(uint16_t port, const std::vector<uint16_t>& suites);

}  // namespace muster::testing_tls
