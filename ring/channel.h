// A TCP connection that never blocks, with TLS or without. Owned by one thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "common/base/unique_fd.h"
#include "common/tls/peer/tls_outcome.h"
#include "ring/ring_tls.h"

namespace muster::ring {

class Channel {
 public:
  enum class Io { kDone, kAgain, kClosed, kFailed };

  // `tls` null: plain. The socket is connected and nonblocking.
  Channel(UniqueFd fd, const RingTls* tls, bool is_dialed, const std::string& expected_fingerprint);

  // Call until it is no longer kAgain; then fault() tells why it failed. Without TLS done at once.
  Io Handshake();
  const HandshakeFault& fault() const { return fault_; }
  // Whether the peer showed a certificate that was refused.
  bool HasRefusedPeer() const { return pin_->refused.has_value(); }
  // Whether the peer has sent something that was worth an answer. Without TLS never.
  bool HasAnswered() const;

  // At most `size` bytes; *done says how many (at least one with kDone).
  Io Read(char* data, size_t size, size_t* done);
  Io Write(const char* data, size_t size, size_t* done);
  // What Read or Write failed of.
  const std::string& error() const { return error_; }

  int fd() const { return fd_.get(); }
  // What the last call that returned kAgain waits for: POLLIN or POLLOUT.
  short awaited() const { return awaited_; }

 private:
  Io TlsResult(int result, size_t* done);
  bool WaitsFor(const TlsOutcome& outcome);

  UniqueFd fd_;
  std::unique_ptr<Pin> pin_;
  SslPtr ssl_;
  bool is_plain_ = true;
  HandshakeFault fault_;
  std::string error_;
  short awaited_ = 0;
};

}  // namespace muster::ring
