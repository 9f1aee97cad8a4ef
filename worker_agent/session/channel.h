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

// Returns the addresses of one family, as gRPC wants them: "ipv4:10.0.0.1:8118,10.0.0.2:8118". One target for each
// family, in the resolver's order.
std::vector<std::string> Targets(const std::vector<IpAddress>& addresses, uint16_t port);

// Makes a channel with a connection of its own: no sharing with other channels, no proxy.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& target,
                                           const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                                           absl::Duration connect_limit);

struct ConnectOptions {
  std::string host;
  uint16_t port = 0;
  absl::Duration timeout;              // for each address family, for the kernel's connect and all later steps
  absl::Duration turn_timeout;         // the same if the kernel's connect was in time
  std::function<bool()> is_cancelled;  // asked several times a second
  std::function<void()> on_waiting;    // after each `timeout` that passes because of turn_timeout, and when it is over
  Security security;
  std::string job_id;                                 // the scheduler's certificate must cover it
  std::shared_ptr<HandshakeResult> handshake_result;  // may be null; see MakeClientCredentials
};

// Resolves and connects; the kernel watches for a dead peer from then on. The error is for people. Blocks.
absl::StatusOr<std::shared_ptr<grpc::Channel>> Connect(const ConnectOptions& options);

}  // namespace muster::agent
