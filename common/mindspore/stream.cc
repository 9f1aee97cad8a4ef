#include "common/mindspore/stream.h"

#include <openssl/err.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/tls/material/openssl.h"
#include "common/tls/peer/tls_outcome.h"

namespace muster::mindspore {
namespace {

constexpr unsigned char kTlsHandshakeRecord = 0x16;
constexpr size_t kMostAtOnce = 16 * 1024;  // a TLS record

}  // namespace

Stream::Io Stream::LooksLikeTls(bool* is_tls) const {
  unsigned char first = 0;
  const ssize_t n = recv(fd_.get(), &first, 1, MSG_PEEK);
  if (n == 0) return Io::kClosed;
  if (n < 0) return errno == EAGAIN || errno == EINTR ? Io::kAgain : Io::kFailed;
  *is_tls = first == kTlsHandshakeRecord;
  return Io::kDone;
}

bool Stream::BeginTls(std::shared_ptr<const TlsAcceptor> acceptor) {
  acceptor_ = std::move(acceptor);
  ssl_ = acceptor_->Accept(fd_.get(), *client_);
  return ssl_ != nullptr;
}

Stream::Io Stream::Handshake() {
  ERR_clear_error();
  errno = 0;
  const int result = SSL_do_handshake(ssl_.get());
  if (result == 1) {
    wants_write_ = false;
    return Io::kDone;
  }
  Io io = TlsResult(result);
  if (io == Io::kClosed) {
    error_ = "the client closed the connection";
    io = Io::kFailed;
  }
  if (!client_->refusal.empty()) {
    error_ = client_->refusal;
  } else if (io == Io::kFailed && !acceptor_->IsForServers()) {
    error_ += "; this side's certificate is not for servers (extended key usage), which the client may ask for";
  }
  return io;
}

Stream::Io Stream::TlsResult(int result) {
  TlsOutcome outcome = OutcomeOf(ssl_.get(), result);
  wants_write_ = outcome.kind == TlsOutcome::Kind::kWantsWrite;
  switch (outcome.kind) {
    case TlsOutcome::Kind::kWantsRead:
    case TlsOutcome::Kind::kWantsWrite:
      return Io::kAgain;
    case TlsOutcome::Kind::kClosed:
      return Io::kClosed;
    case TlsOutcome::Kind::kBroken:
      error_ = std::move(outcome.error);
      return Io::kFailed;
    case TlsOutcome::Kind::kRefused:
      error_ = OpenSslReason(TakeOpenSslErrors());
      return Io::kFailed;
  }
  return Io::kFailed;
}

Stream::Io Stream::Read(size_t most, std::string& out) {
  char bytes[kMostAtOnce];
  most = std::min(most, sizeof(bytes));
  if (ssl_ != nullptr) {
    ERR_clear_error();
    errno = 0;
    const int n = SSL_read(ssl_.get(), bytes, static_cast<int>(most));
    if (n <= 0) return TlsResult(n);
    wants_write_ = false;
    out.append(bytes, static_cast<size_t>(n));
    return Io::kDone;
  }
  const ssize_t n = recv(fd_.get(), bytes, most, 0);
  if (n == 0) return Io::kClosed;
  if (n > 0) {
    out.append(bytes, static_cast<size_t>(n));
    return Io::kDone;
  }
  if (errno == EAGAIN || errno == EINTR) return Io::kAgain;
  error_ = std::strerror(errno);
  return Io::kFailed;
}

Stream::Io Stream::Write(std::string_view bytes, size_t* done) {
  bytes = bytes.substr(0, kMostAtOnce);
  if (ssl_ != nullptr) {
    ERR_clear_error();
    errno = 0;
    const int n = SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()));
    if (n <= 0) return TlsResult(n);
    wants_write_ = false;
    *done = static_cast<size_t>(n);
    return Io::kDone;
  }
  const ssize_t n = send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (n >= 0) {
    *done = static_cast<size_t>(n);
    return Io::kDone;
  }
  if (errno == EAGAIN || errno == EINTR) return Io::kAgain;
  error_ = std::strerror(errno);
  return Io::kFailed;
}

}  // namespace muster::mindspore
