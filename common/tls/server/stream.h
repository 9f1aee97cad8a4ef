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

  // Takes a connected, nonblocking socket.
  explicit Stream(UniqueFd fd) : fd_(std::move(fd)) {}

  // Checks whether the first byte begins a TLS handshake (0x16); kAgain while it has not come.
  Io LooksLikeTls(bool* is_tls) const;
  // Reads the first byte without removing it; before any Read, without TLS.
  Io Peek(char* first) const;
  // Call once, before the first Read. False if memory is short.
  bool BeginTls(std::shared_ptr<const TlsServerContext> context);
  // Call instead of BeginTls on a socket that this side connects. Both sides show what a client shows.
  bool DialTls(std::shared_ptr<const TlsServerContext> context);
  // Call it until it no longer returns kAgain. Costs milliseconds of the processor.
  Io Handshake();

  // Reads at most `most` (> 0) bytes into `out`; with TLS at most a record, 16 KiB, at once. `done`, set with kDone
  // only: the number of bytes.
  Io Read(char* out, size_t most, size_t* done);
  // Appends at most `most` (> 0) bytes to `out`, and not more than 16 KiB at once.
  Io Read(size_t most, std::string& out);
  // Writes all or a part of `bytes` (not empty). `done`, set with kDone only: how many of the bytes were taken.
  Io Write(std::string_view bytes, size_t* done);

  // True if decrypted bytes wait, which poll does not report.
  bool HasHiddenInput() const { return ssl_ != nullptr && SSL_pending(ssl_.get()) > 0; }
  // With TLS, a read may wait for the socket to become writable, and the other way round.
  bool wants_write() const { return wants_write_; }
  // Ends writing; earlier bytes still go out. With TLS it sends the end of TLS, if the socket takes it at once.
  void EndWriting();
  // Closes at once: waiting bytes in either direction are lost. client() stays.
  void Close();
  bool has_tls() const { return ssl_ != nullptr; }
  const CheckedClient& client() const { return *client_; }
  // After a failed handshake: returns why the client was refused. None: it went away by itself.
  const TlsRefusal& refusal() const { return client_->refusal; }
  int fd() const { return fd_.get(); }
  // Returns why the last call failed.
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
