#include "common/tls/server/stream.h"

#include <openssl/err.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "common/tls/material/openssl.h"
#include "common/tls/peer/tls_outcome.h"

namespace muster {
namespace {

constexpr unsigned char kTlsHandshakeRecord = 0x16;
constexpr size_t kMaxAtOnce = 16 * 1024;  // the size of a TLS record

TlsFault FaultOf(const std::vector<unsigned long>& errors) {  // NOLINT(google-runtime-int): OpenSSL's type
  const auto has = [&](int reason) { return HasReason(errors, ERR_LIB_SSL, reason); };
  if (has(SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE)) return TlsFault::kNoCertificate;
  if (has(SSL_R_UNSUPPORTED_PROTOCOL) || has(SSL_R_WRONG_VERSION_NUMBER) || has(SSL_R_VERSION_TOO_LOW)) {
    return TlsFault::kOldVersion;
  }
  if (has(SSL_R_NO_SHARED_CIPHER)) return TlsFault::kNoSharedCipher;
  return TlsFault::kHandshakeFailed;
}

}  // namespace

Stream::Io Stream::LooksLikeTls(bool* is_tls) const {
  char first = 0;
  const Io io = Peek(&first);
  if (io == Io::kDone) *is_tls = static_cast<unsigned char>(first) == kTlsHandshakeRecord;
  return io;
}

Stream::Io Stream::Peek(char* first) const {
  const ssize_t n = recv(fd_.get(), first, 1, MSG_PEEK);
  if (n == 0) return Io::kClosed;
  if (n < 0) return errno == EAGAIN || errno == EINTR ? Io::kAgain : Io::kFailed;
  return Io::kDone;
}

bool Stream::BeginTls(std::shared_ptr<const TlsServerContext> context) {
  context_ = std::move(context);
  ssl_ = context_->Accept(fd_.get(), *client_);
  return ssl_ != nullptr;
}

bool Stream::DialTls(std::shared_ptr<const TlsServerContext> context) {
  context_ = std::move(context);
  ssl_ = context_->Dial(fd_.get(), *client_);
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
  const TlsOutcome outcome = OutcomeOf(ssl_.get(), result);
  wants_write_ = outcome.kind == TlsOutcome::Kind::kWantsWrite;
  if (wants_write_ || outcome.kind == TlsOutcome::Kind::kWantsRead) return Io::kAgain;
  if (outcome.kind == TlsOutcome::Kind::kRefused) {
    const std::vector<unsigned long> errors = TakeOpenSslErrors();  // NOLINT(google-runtime-int): OpenSSL's type
    const bool went_away = HasReason(errors, ERR_LIB_SSL, SSL_R_UNEXPECTED_EOF_WHILE_READING);
    if (client_->refusal.ok() && !went_away) client_->refusal = {FaultOf(errors), OpenSslReason(errors)};
  }
  if (!client_->refusal.ok()) {
    error_ = client_->refusal.text;
    if (client_->refusal.fault != TlsFault::kHandshakeFailed) return Io::kFailed;
  } else {
    error_ = outcome.kind == TlsOutcome::Kind::kBroken ? outcome.error : "the client closed the connection";
  }
  if (!context_->IsForServers()) {
    error_ += "; this side's certificate is not for servers (extended key usage), which the client may require";
  }
  return Io::kFailed;
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

Stream::Io Stream::Read(char* out, size_t most, size_t* done) {
  if (ssl_ != nullptr) {
    ERR_clear_error();
    errno = 0;
    const int n = SSL_read(ssl_.get(), out, static_cast<int>(std::min(most, kMaxAtOnce)));
    if (n <= 0) return TlsResult(n);
    wants_write_ = false;
    *done = static_cast<size_t>(n);
    return Io::kDone;
  }
  const ssize_t n = recv(fd_.get(), out, most, 0);
  if (n == 0) return Io::kClosed;
  if (n < 0) return SystemResult();
  *done = static_cast<size_t>(n);
  return Io::kDone;
}

Stream::Io Stream::Read(size_t most, std::string& out) {
  char bytes[kMaxAtOnce];
  size_t done = 0;
  const Io io = Read(bytes, std::min(most, sizeof(bytes)), &done);
  if (io == Io::kDone) out.append(bytes, done);
  return io;
}

Stream::Io Stream::Write(std::string_view bytes, size_t* done) {
  if (ssl_ != nullptr) {
    bytes = bytes.substr(0, kMaxAtOnce);
    ERR_clear_error();
    errno = 0;
    const int n = SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()));
    if (n <= 0) return TlsResult(n);
    wants_write_ = false;
    *done = static_cast<size_t>(n);
    return Io::kDone;
  }
  const ssize_t n = send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (n < 0) return SystemResult();
  *done = static_cast<size_t>(n);
  return Io::kDone;
}

void Stream::EndWriting() {
  if (ssl_ != nullptr && SSL_is_init_finished(ssl_.get())) {
    SSL_shutdown(ssl_.get());
    ERR_clear_error();
  }
  shutdown(fd_.get(), SHUT_WR);
}

void Stream::Close() {
  ssl_.reset();
  fd_.reset();
}

Stream::Io Stream::SystemResult() {
  if (errno == EAGAIN || errno == EINTR) return Io::kAgain;
  error_ = std::strerror(errno);
  return Io::kFailed;
}

}  // namespace muster
