// A gRPC server of the agent for this machine's processes of this user: ports of loopback (GrpcDoor), the relay that
// holds clients to the limits of HTTP/2 (common/net/http2), gRPC without TLS, and one thread that carries out the steps
// of all calls.
//
// What clients can make it hold is limited: connections, streams of each, header blocks and frames (FrameGuard),
// messages, and the bytes of gRPC's buffers.
#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server_builder.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>

#include "absl/status/status.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/net/http2/relay.h"
#include "common/net/mailbox.h"
#include "common/net/poller.h"
#include "common/sys/log.h"
#include "worker_agent/gateway/chassis/grpc_door.h"
#include "worker_agent/gateway/chassis/strand.h"

namespace muster::agent {

class GrpcServer {
 public:
  static constexpr size_t kThreads = 2;  // of its own: the steps' and the relay's
  // The client's socket, and both ends of the pair to gRPC.
  static constexpr size_t kDescriptorsOfAConnection = 3;

  struct Options {
    std::string whose;   // for people: "JAX's"
    std::string thread;  // the thread's name, at most 15 letters
    uint32_t ports = 1;
    size_t most_connections = 0;
    int most_request_bytes = 0;
    size_t most_bytes = 0;  // of gRPC's buffers
    absl::Duration tick;    // `turn` comes so often at least, while `is_busy`
  };
  // The thread calls these.
  struct Hooks {
    std::function<bool()> is_busy;                                 // whether time alone brings something
    std::function<void(const std::function<void()>& steps)> turn;  // must call `steps`, once
  };

  // `service` and `clock` must outlive this.
  GrpcServer(Options options, grpc::CallbackGenericService& service, Hooks hooks, const Clock& clock);
  ~GrpcServer();  // stops
  GrpcServer(const GrpcServer&) = delete;
  GrpcServer& operator=(const GrpcServer&) = delete;

  // Once. The error says what there was none of: a port, a descriptor, a thread.
  absl::Status Start();
  // Carries out `last` as the last step, gives calls a moment to end, and closes all connections. No hook is called
  // afterwards.
  void Stop(std::function<void()> last);

  // The number of a port that this listens at, from 0.
  uint16_t PortAt(uint32_t index) const { return doors_.at(index).port(); }
  // The index of the port through which a call came; none: its connection is gone. `peer`: as gRPC names it.
  std::optional<uint32_t> IndexOf(const std::string& peer) const;

  // Any thread. May outlive this; nothing happens then.
  Post post() const {
    return [steps = steps_](std::function<void()> step) { steps->mailbox.Push(std::move(step)); };
  }

 private:
  struct Steps {  // outlives this for as long as somebody owes an answer
    Poller poller;
    Mailbox<std::function<void()>> mailbox{[this] { poller.Wake(); }};
  };

  void BuildGrpc();
  void Run();
  void Take(UniqueFd client, uint32_t index);
  void Open(UniqueFd grpc_end);
  void Closed(uint64_t connection, const RelayEnd& end);

  const Options options_;
  grpc::CallbackGenericService& service_;
  const Hooks hooks_;
  const Clock& clock_;
  const std::string client_name_;  // for people
  CountedLog counted_;
  const std::shared_ptr<Steps> steps_ = std::make_shared<Steps>();
  std::deque<GrpcDoor> doors_;  // of the thread, once it runs
  bool is_ending_ = false;      // of the thread
  mutable Mutex mutex_;
  std::unordered_map<uint64_t, uint32_t> index_of_ ABSL_GUARDED_BY(mutex_);  // by connection
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> grpc_;
  Relay relay_;
  std::thread thread_;
};

// What a message has; empty: gRPC can't read it (what it is compressed with isn't known).
std::string BytesOf(const grpc::ByteBuffer& buffer);

}  // namespace muster::agent
