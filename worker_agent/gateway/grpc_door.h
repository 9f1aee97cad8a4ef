// A port of loopback at which this machine's processes of this user reach a gRPC server of the agent. Of the thread
// that owns it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "common/base/unique_fd.h"
#include "common/net/poller.h"
#include "common/tcp_server/socket_address.h"

namespace grpc {
class ByteBuffer;
class Server;
}  // namespace grpc

namespace muster::agent {

class GrpcDoor {
 public:
  // `whose`, for people: "JAX's". `poller` must outlive this; `key` is the listener's there.
  GrpcDoor(std::string whose, Poller& poller, uint64_t key) : whose_(std::move(whose)), poller_(poller), key_(key) {}

  // Listens at a free port. The error says what there was none of.
  absl::Status Open();
  uint16_t port() const { return own_.port; }

  // Hands all that wait to `server`, but for strangers, who are told of in the log; `admitted` hears of each first, by
  // its descriptor. To be called when the poller has an event of the listener, and now and then while IsResting.
  void Admit(grpc::Server& server, const std::function<void(int descriptor)>& admitted = nullptr);
  // There was no descriptor for a client.
  bool IsResting() const { return is_resting_; }

 private:
  void RestOrListen(int error);

  const std::string whose_;
  Poller& poller_;
  const uint64_t key_;
  UniqueFd listener_;
  SocketAddress own_;
  bool is_resting_ = false;
};

// What a message has; empty: gRPC can't read it (what it is compressed with isn't known).
std::string BytesOf(const grpc::ByteBuffer& buffer);

}  // namespace muster::agent
