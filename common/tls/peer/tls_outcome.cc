#include "common/tls/peer/tls_outcome.h"

#include <openssl/err.h>

#include <cerrno>
#include <cstring>

namespace muster {

TlsOutcome OutcomeOf(const SSL* ssl, int result) {
  const int system_error = errno;
  switch (SSL_get_error(ssl, result)) {
    case SSL_ERROR_WANT_READ:
      return {TlsOutcome::Kind::kWantsRead, ""};
    case SSL_ERROR_WANT_WRITE:
      return {TlsOutcome::Kind::kWantsWrite, ""};
    case SSL_ERROR_ZERO_RETURN:
      return {TlsOutcome::Kind::kClosed, ""};
    case SSL_ERROR_SYSCALL:
      ERR_clear_error();
      return {TlsOutcome::Kind::kBroken, system_error == 0 ? "the connection was closed" : std::strerror(system_error)};
    default:
      return {TlsOutcome::Kind::kRefused, ""};
  }
}

}  // namespace muster
