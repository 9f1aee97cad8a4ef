// The outcome of an unsuccessful OpenSSL call on a nonblocking connection.
#pragma once

#include <openssl/ssl.h>

#include <string>

namespace muster {

struct TlsOutcome {
  enum class Kind {
    kWantsRead,   // call again when the socket is readable …
    kWantsWrite,  // … or writable
    kClosed,      // the peer ended TLS properly
    kBroken,      // the socket failed, or ended without a proper end of TLS: see `error`
    kRefused,     // OpenSSL's queue of errors, which the caller takes, says why
  };
  Kind kind = Kind::kRefused;
  std::string error;
};

// Must directly follow the call that gave `result`; before that call, errno and OpenSSL's queue of errors must have
// been cleared.
TlsOutcome OutcomeOf(const SSL* ssl, int result);

}  // namespace muster
