// The agent's gRPC server for this user's processes on this machine. It has ports of loopback, a relay that enforces
// limits on the clients' HTTP/2 (common/net/http2), gRPC without TLS, and one thread that runs the steps of all calls.
//
// All that a client can make the server store is limited: connections, the streams of each, header blocks and frames
// (FrameGuard), messages, and the bytes of gRPC's buffers.
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
#include "worker_agent/gateway/chassis/post.h"

namespace muster::agent {

// One call until it is answered or given up. Only the first answer counts. Any thread may use it.
class HeldCall {
 public:
  // `details` is the value of the call's trailer grpc-status-details-bin if `reply` is an error; empty: no such
  // trailer.
  using Done = std::function<void(absl::StatusOr<std::string> reply, const std::string& details)>;
  explicit HeldCall(Done done) : done_(std::move(done)) {}

  void Complete(absl::StatusOr<std::string> reply, const std::string& details = "");
  // If the client goes away before the answer, calls `then` once and then ends the call as cancelled.
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
  std::string bytes;             // empty: gRPC could not read it (unknown compression)
  std::optional<uint32_t> port;  // the index of the port it came through; none: its connection is gone
  absl::Duration time_left;      // until its caller gives up
};

// A framework's service: handles its calls, each with one request and one reply.
class GrpcService {
 public:
  virtual ~GrpcService() = default;

  // Called by gRPC's threads.
  virtual bool Knows(const std::string& method) const = 0;
  virtual void Handle(GrpcRequest request, const SharedCall& call) = 0;

  // Called by the server's thread.
  virtual bool IsBusy() const = 0;                            // true if Turn has work to do even without a new request
  virtual void Turn(const std::function<void()>& steps) = 0;  // must call `steps`, once
};

class GrpcServer {
 public:
  static constexpr size_t kThreads = 2;  // of the server itself: one for the steps, one for the relay
  // The client's socket, and both ends of the socket pair between the relay and gRPC.
  static constexpr size_t kDescriptorsOfAConnection = 3;

  struct Options {
    std::string whose;   // for people: "JAX"
    std::string thread;  // the thread's name, at most 15 letters
    uint32_t ports = 1;
    size_t most_connections = 0;
    int max_request_bytes = 0;
    size_t most_bytes = 0;  // of gRPC's buffers
    absl::Duration tick;    // the longest time between two `Turn`s while `IsBusy`
  };

  // `service` and `clock` must outlive this.
  GrpcServer(Options options, GrpcService& service, const Clock& clock);
  ~GrpcServer();  // stops

  // Starts the server, once. The error names what was not available: a port, a descriptor, a thread.
  absl::Status Start();
  // Runs `last` as the last step, gives calls a moment to end, and closes all connections. Doesn't call the service
  // afterwards.
  void Stop(std::function<void()> last);

  // Returns the TCP port with this index. Indices count from 0.
  uint16_t PortAt(uint32_t index) const;

  // Returns a function that runs steps on the server's thread. Any thread may call it. It may outlive this object; then
  // it has no effect.
  Post post() const;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace muster::agent
