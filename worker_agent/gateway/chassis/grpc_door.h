// A port of loopback at which this machine's processes of this user reach a gRPC server of the agent (GrpcServer). Of
// the thread that owns it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "common/base/unique_fd.h"
#include "common/net/poller.h"
#include "common/sys/log.h"
#include "common/tcp_server/socket_address.h"

namespace muster::agent {

class GrpcDoor {
 public:
  // `whose`, for people: "JAX's". `poller` and `counted` must outlive this; `key` is the listener's there.
  GrpcDoor(std::string whose, Poller& poller, uint64_t key, CountedLog& counted)
      : whose_(std::move(whose)), poller_(poller), key_(key), counted_(counted) {}

  // Listens at a free port. The error says what there was none of.
  absl::Status Open();
  uint16_t port() const { return own_.port; }

  // Accepts every waiting connection from this user and hands it to `take`; closes and counts the others. To be called
  // when the poller has an event of the listener, and now and then while IsResting.
  void Admit(const std::function<void(UniqueFd client)>& take);
  // There was no descriptor for a client.
  bool IsResting() const { return is_resting_; }

 private:
  void RestOrListen(int error);

  const std::string whose_;
  Poller& poller_;
  const uint64_t key_;
  CountedLog& counted_;
  UniqueFd listener_;
  SocketAddress own_;
  bool is_resting_ = false;
};

}  // namespace muster::agent
