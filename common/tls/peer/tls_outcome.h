// The outcome of an OpenSSL call that did not succeed, on a nonblocking connection.
#pragma once

#include <openssl/ssl.h>

#include <string>

namespace muster {

struct TlsOutcome {
  enum class Kind {
    kWantsRead,   // call again when the socket is readable
    kWantsWrite,  // call again when the socket is writable
    kClosed,      // the peer closed TLS properly
    kBroken,      // the socket failed, or ended before TLS was closed properly: see `error`
    kRefused,     // OpenSSL's error queue says why; the caller must take its errors
  };
  Kind kind = Kind::kRefused;
  std::string error;
};

// Must directly follow the call that returned `result`. Before that call, errno and OpenSSL's error queue must have
// been cleared.
TlsOutcome OutcomeOf(const SSL* ssl, int result);

}  // namespace muster
