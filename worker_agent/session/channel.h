// Channels to the scheduler. Private to worker_agent/session (gRPC's headers stay in few files).
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/net/ip_address.h"
#include "common/tls/grpc/credentials.h"

namespace muster::agent {

// Returns one gRPC target for each address family, in the resolver's order. A target lists the family's addresses:
// "ipv4:10.0.0.1:8118,10.0.0.2:8118".
std::vector<std::string> Targets(const std::vector<IpAddress>& addresses, uint16_t port);

// Makes a channel with a connection of its own, which it shares with no other channel. Uses no proxy.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& target,
                                           const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                                           absl::Duration connect_limit);

struct ConnectOptions {
  std::string host;
  uint16_t port = 0;
  absl::Duration timeout;              // for each address family, from the connect until the channel is ready
  absl::Duration turn_timeout;         // in place of `timeout` if the kernel connected within that
  std::function<bool()> is_cancelled;  // asked several times a second
  std::function<void()> on_waiting;    // called each time another `timeout` passes after the kernel has connected, and
                                       // once more when the channel is ready
  Security security;
  std::string job_id;                                 // the scheduler's certificate must cover it
  std::shared_ptr<HandshakeResult> handshake_result;  // may be null; see MakeClientCredentials
};

// Resolves the host name and connects. From then on the kernel watches for a dead peer. The error is for people.
// Blocks.
absl::StatusOr<std::shared_ptr<grpc::Channel>> Connect(const ConnectOptions& options);

}  // namespace muster::agent
