// A TCP connection that never blocks, plain or with TLS. Owned by one thread. With TLS, the program must ignore
// SIGPIPE, because OpenSSL writes without MSG_NOSIGNAL.
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
  // kAgain: call again when the socket is ready. kClosed: the peer has ended the connection. kFailed: see error().
  enum class Io { kDone, kAgain, kClosed, kFailed };

  // Takes a connected, nonblocking socket.
  explicit Stream(UniqueFd fd) : fd_(std::move(fd)) {}

  // Sets `is_tls` if the first byte begins a TLS handshake (0x16). Returns kAgain until the byte has come.
  Io LooksLikeTls(bool* is_tls) const;
  // Reads the first byte without removing it. Only before any Read, and without TLS.
  Io Peek(char* first) const;
  // Begins TLS as a server. Call it once, before the first Read. Returns false if memory is short.
  bool BeginTls(std::shared_ptr<const TlsServerContext> context);
  // Begins TLS on a socket that this side connects; call it instead of BeginTls. Both sides use certificates that are
  // good for clients.
  bool DialTls(std::shared_ptr<const TlsServerContext> context);
  // Makes the handshake. Call it until it no longer returns kAgain. It takes milliseconds of processor time.
  Io Handshake();

  // Reads at most `most` (> 0) bytes into `out`; with TLS at most one record (16 KiB). Sets `done` to the number of
  // bytes, only with kDone.
  Io Read(char* out, size_t most, size_t* done);
  // Appends at most `most` (> 0) bytes to `out`, and at most 16 KiB in one call.
  Io Read(size_t most, std::string& out);
  // Writes all or a part of `bytes` (not empty). Sets `done` to the number of bytes taken, only with kDone.
  Io Write(std::string_view bytes, size_t* done);

  // True if decrypted bytes are waiting. poll does not report them.
  bool HasHiddenInput() const { return ssl_ != nullptr && SSL_pending(ssl_.get()) > 0; }
  // True if the last call waits for the socket to become writable. With TLS a read may wait for that, and a write may
  // wait for the socket to become readable.
  bool wants_write() const { return wants_write_; }
  // Ends writing. Bytes written before still go out. With TLS, sends the end of TLS if the socket takes it at once.
  void EndWriting();
  // Closes at once. Waiting bytes in both directions are lost. client() stays valid.
  void Close();
  bool has_tls() const { return ssl_ != nullptr; }
  const CheckedClient& client() const { return *client_; }
  // Returns why a client was refused, after a failed handshake. No fault: the client went away by itself.
  const TlsRefusal& refusal() const { return client_->refusal; }
  int fd() const { return fd_.get(); }
  // Returns why the last call failed.
  const std::string& error() const { return error_; }

 private:
  Io TlsResult(int result);
  Io SystemResult();

  UniqueFd fd_;
  std::shared_ptr<const TlsServerContext> context_;
  std::unique_ptr<CheckedClient> client_ = std::make_unique<CheckedClient>();  // the SSL object points to it
  SslPtr ssl_;
  bool wants_write_ = false;
  std::string error_;
};

}  // namespace muster
