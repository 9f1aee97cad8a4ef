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

  // Call it until it no longer returns kAgain. On kFailed, fault() has the reason. Without TLS it is done at once.
  Io Handshake();
  const HandshakeFault& fault() const { return fault_; }
  // True if the peer showed a certificate that was refused.
  bool HasRefusedPeer() const { return pin_->refused.has_value(); }
  // True if the peer has sent something that needed an answer. Always false without TLS.
  bool HasAnswered() const;

  // Both move at most `size` bytes and set *done to the number (at least one with kDone).
  Io Read(char* data, size_t size, size_t* done);
  Io Write(const char* data, size_t size, size_t* done);
  // The error of the last Read or Write that failed.
  const std::string& error() const { return error_; }

  int fd() const { return fd_.get(); }
  // The event that the last call that returned kAgain waits for: POLLIN or POLLOUT.
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
