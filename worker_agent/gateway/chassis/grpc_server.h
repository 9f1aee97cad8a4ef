// A gRPC server of the agent for this machine's processes of this user: ports of loopback, the relay that holds clients
// to the limits of HTTP/2 (common/net/http2), gRPC without TLS, and one thread that carries out the steps of all calls.
//
// What clients can make it hold is limited: connections, streams of each, header blocks and frames (FrameGuard),
// messages, and the bytes of gRPC's buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "worker_agent/gateway/chassis/strand.h"

namespace muster::agent {

// One call, until it is answered or given up: told once, whoever is first. Any thread.
class HeldCall {
 public:
  // `details`: the call's trailer of that name, of an error; empty: none.
  using Done = std::function<void(absl::StatusOr<std::string> reply, const std::string& details)>;
  explicit HeldCall(Done done) : done_(std::move(done)) {}

  void Tell(absl::StatusOr<std::string> reply, const std::string& details = "");
  // `then` is called once, before the call is told so, if its caller goes before it is told.
  void WhenGivenUp(std::function<void()> then);
  void GiveUp();

 private:
  Mutex mutex_;
  Done done_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> given_up_ ABSL_GUARDED_BY(mutex_);
};
using SharedCall = std::shared_ptr<HeldCall>;

struct GrpcRequest {
  std::string method;
  std::string bytes;             // empty: gRPC can't read it (what it is compressed with isn't known)
  std::optional<uint32_t> port;  // the index of the port through which it came; none: its connection is gone
  absl::Duration time_left;      // until its caller gives up
};

// What a framework's service does with its calls, each of one request and one reply.
class GrpcService {
 public:
  virtual ~GrpcService() = default;

  // gRPC's threads.
  virtual bool Knows(const std::string& method) const = 0;
  virtual void Handle(GrpcRequest request, const SharedCall& call) = 0;

  // The server's thread.
  virtual bool IsBusy() const = 0;                            // whether time alone brings something
  virtual void Turn(const std::function<void()>& steps) = 0;  // must call `steps`, once
};

class GrpcServer {
 public:
  static constexpr size_t kThreads = 2;  // of its own: the steps' and the relay's
  // The client's socket, and both ends of the pair to gRPC.
  static constexpr size_t kDescriptorsOfAConnection = 3;

  struct Options {
    std::string whose;   // for people: "JAX"
    std::string thread;  // the thread's name, at most 15 letters
    uint32_t ports = 1;
    size_t most_connections = 0;
    int max_request_bytes = 0;
    size_t most_bytes = 0;  // of gRPC's buffers
    absl::Duration tick;    // `Turn` comes so often at least, while `IsBusy`
  };

  // `service` and `clock` must outlive this.
  GrpcServer(Options options, GrpcService& service, const Clock& clock);
  ~GrpcServer();  // stops

  // Once. The error says what there was none of: a port, a descriptor, a thread.
  absl::Status Start();
  // Carries out `last` as the last step, gives calls a moment to end, and closes all connections. The service is not
  // called afterwards.
  void Stop(std::function<void()> last);

  // The number of a port that this listens at, from 0.
  uint16_t PortAt(uint32_t index) const;

  // Any thread. May outlive this; nothing happens then.
  Post post() const;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace muster::agent
