// An accepted TCP connection that never blocks, plain or with TLS. Owned by one thread. With TLS the program has to
// ignore SIGPIPE: OpenSSL writes without MSG_NOSIGNAL.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/unique_fd.h"
#include "common/tls/server/server_context.h"

namespace muster {

class Stream {
 public:
  // kAgain: call again when the socket is ready; kClosed: the peer has ended the connection; kFailed: see error().
  enum class Io { kDone, kAgain, kClosed, kFailed };

  // A connected, nonblocking socket.
  explicit Stream(UniqueFd fd) : fd_(std::move(fd)) {}

  // Whether the first byte begins a TLS handshake (0x16); kAgain while it has not come.
  Io LooksLikeTls(bool* is_tls) const;
  // The first byte, which stays where it is; before any Read, without TLS.
  Io Peek(char* first) const;
  // Once, before the first Read. False when memory is short.
  bool BeginTls(std::shared_ptr<const TlsServerContext> context);
  // In its place, on a socket that this side connects. Both sides show what a client shows.
  bool DialTls(std::shared_ptr<const TlsServerContext> context);
  // Until it is no longer kAgain. Costs milliseconds of the processor.
  Io Handshake();

  // At most `most` (> 0) bytes into `out`; with TLS a record, 16 KiB, at once. `done`, set with kDone only: how many.
  Io Read(char* out, size_t most, size_t* done);
  // Appends at most `most` (> 0) bytes to `out`, and not more than 16 KiB at once.
  Io Read(size_t most, std::string& out);
  // Not empty; may take a part. `done`, set with kDone only: how many of the bytes were taken.
  Io Write(std::string_view bytes, size_t* done);

  // Decrypted bytes wait, which poll does not tell of.
  bool HasHiddenInput() const { return ssl_ != nullptr && SSL_pending(ssl_.get()) > 0; }
  // With TLS, a read may wait for the socket to become writable, and the other way round.
  bool wants_write() const { return wants_write_; }
  // Nothing more is written; what was, goes out. With TLS a goodbye is said, if the socket takes it at once.
  void EndWriting();
  // At once: whatever waits in either way is lost. client() stays.
  void Close();
  bool has_tls() const { return ssl_ != nullptr; }
  const CheckedClient& client() const { return *client_; }
  // After a handshake that failed: why the client was refused. None: it went away by itself.
  const TlsRefusal& refusal() const { return client_->refusal; }
  int fd() const { return fd_.get(); }
  // Why the last call failed.
  const std::string& error() const { return error_; }

 private:
  Io TlsResult(int result);
  Io SystemResult();

  UniqueFd fd_;
  std::shared_ptr<const TlsServerContext> context_;
  std::unique_ptr<CheckedClient> client_ = std::make_unique<CheckedClient>();  // SSL points to it
  SslPtr ssl_;
  bool wants_write_ = false;
  std::string error_;
};

}  // namespace muster
