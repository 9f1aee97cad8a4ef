// A TCP connection with or without TLS. Its functions never block. Owned by one thread.
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

  // `fd`: a connected, nonblocking socket. `tls` null: without TLS. `is_dialed`: this side has connected, so it is the
  // TLS client. `expected_fingerprint`: of the only certificate that the peer may show.
  Channel(UniqueFd fd, const RingTls* tls, bool is_dialed, const std::string& expected_fingerprint);

  // Goes on with the TLS handshake. If it returns kAgain, call it again when the socket is ready. On kFailed, fault()
  // has the reason. Without TLS it returns kDone at once.
  Io Handshake();
  const HandshakeFault& fault() const { return fault_; }
  // True if the peer showed a certificate that was refused.
  bool HasRefusedPeer() const { return pin_->refused.has_value(); }
  // True if this side has sent bytes of the TLS handshake as an answer, so the peer has sent something. False without
  // TLS.
  bool HasAnswered() const;

  // Read and write at most `size` bytes. On kDone, *done is the number of bytes, at least one.
  Io Read(char* data, size_t size, size_t* done);
  Io Write(const char* data, size_t size, size_t* done);
  // The error of the last Read or Write that failed.
  const std::string& error() const { return error_; }

  int fd() const { return fd_.get(); }
  // POLLIN or POLLOUT: the event to wait for after a call has returned kAgain.
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
