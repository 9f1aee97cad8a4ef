#include "ring/channel.h"

#include <openssl/err.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

namespace muster::ring {

Channel::Channel(UniqueFd fd, const RingTls* tls, bool is_dialed, const std::string& expected_fingerprint)
    : fd_(std::move(fd)), pin_(std::make_unique<Pin>()), is_plain_(tls == nullptr) {
  pin_->expected = expected_fingerprint;
  if (tls != nullptr) ssl_ = is_dialed ? tls->Dial(fd_.get(), *pin_) : tls->Accept(fd_.get(), *pin_);
}

Channel::Io Channel::Handshake() {
  if (is_plain_) return Io::kDone;
  if (ssl_ == nullptr) return Io::kFailed;
  ERR_clear_error();
  errno = 0;
  const int result = SSL_do_handshake(ssl_.get());
  if (result == 1) return Io::kDone;
  const TlsOutcome outcome = OutcomeOf(ssl_.get(), result);
  if (WaitsFor(outcome)) return Io::kAgain;
  fault_ = TakeHandshakeFault(*pin_);
  return Io::kFailed;
}

bool Channel::HasAnswered() const { return ssl_ != nullptr && BIO_number_written(SSL_get_wbio(ssl_.get())) > 0; }

Channel::Io Channel::TlsResult(int result, size_t* done) {
  if (result > 0) {
    *done = static_cast<size_t>(result);
    return Io::kDone;
  }
  TlsOutcome outcome = OutcomeOf(ssl_.get(), result);
  if (WaitsFor(outcome)) return Io::kAgain;
  if (outcome.kind == TlsOutcome::Kind::kClosed) return Io::kClosed;
  error_ = std::move(outcome.error);
  if (outcome.kind == TlsOutcome::Kind::kRefused) {
    // In TLS 1.3 a peer may refuse our certificate after our side of the handshake has succeeded.
    fault_ = TakeHandshakeFault(*pin_);
    error_ = fault_.detail;
  }
  return Io::kFailed;
}

// True if the caller must wait until the socket is ready. Then it sets awaited_.
bool Channel::WaitsFor(const TlsOutcome& outcome) {
  if (outcome.kind == TlsOutcome::Kind::kWantsRead) awaited_ = POLLIN;
  if (outcome.kind == TlsOutcome::Kind::kWantsWrite) awaited_ = POLLOUT;
  return outcome.kind == TlsOutcome::Kind::kWantsRead || outcome.kind == TlsOutcome::Kind::kWantsWrite;
}

Channel::Io Channel::Read(char* data, size_t size, size_t* done) {
  if (!is_plain_) {
    ERR_clear_error();
    errno = 0;
    return TlsResult(SSL_read(ssl_.get(), data, static_cast<int>(std::min<size_t>(size, INT_MAX))), done);
  }
  const ssize_t n = recv(fd_.get(), data, size, 0);
  if (n == 0) return Io::kClosed;
  if (n > 0) {
    *done = static_cast<size_t>(n);
    return Io::kDone;
  }
  awaited_ = POLLIN;
  if (errno == EAGAIN || errno == EINTR) return Io::kAgain;
  error_ = std::strerror(errno);
  return Io::kFailed;
}

Channel::Io Channel::Write(const char* data, size_t size, size_t* done) {
  if (!is_plain_) {
    ERR_clear_error();
    errno = 0;
    return TlsResult(SSL_write(ssl_.get(), data, static_cast<int>(std::min<size_t>(size, INT_MAX))), done);
  }
  const ssize_t n = send(fd_.get(), data, size, MSG_NOSIGNAL);
  if (n >= 0) {
    *done = static_cast<size_t>(n);
    return Io::kDone;
  }
  awaited_ = POLLOUT;
  if (errno == EAGAIN || errno == EINTR) return Io::kAgain;
  error_ = std::strerror(errno);
  return Io::kFailed;
}

}  // namespace muster::ring
