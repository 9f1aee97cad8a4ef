// What a call of OpenSSL's on a nonblocking connection came to, when it did not succeed.
#pragma once

#include <openssl/ssl.h>

#include <string>

namespace muster {

struct TlsOutcome {
  enum class Kind {
    kWantsRead,   // call again when the socket is readable …
    kWantsWrite,  // … or writable
    kClosed,      // the peer said goodbye
    kBroken,      // the socket failed, or ended without a goodbye: see `error`
    kRefused,     // OpenSSL's queue of errors says why: for the caller to take
  };
  Kind kind = Kind::kRefused;
  std::string error;
};

// Right behind the call that gave `result`; before it, errno and OpenSSL's queue of errors must have been cleared.
TlsOutcome OutcomeOf(const SSL* ssl, int result);

}  // namespace muster
