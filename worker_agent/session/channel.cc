#include "worker_agent/session/channel.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/limits.h"
#include "common/net/grpc_calls.h"
#include "common/net/net.h"
#include "common/tls/plaintext.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kPollInterval = absl::Milliseconds(200);
// The time limit of gRPC is longer by this, so that Patience ends first and reports the error.
constexpr absl::Duration kPatienceEndsFirst = absl::Seconds(1);
constexpr int kFirstBackOffMs = 100;
constexpr int kMaxBackOffMs = 3000;
constexpr int kReplyOverhead = 1024;  // bytes that GetPeersReply adds to the peer list

// Waits until one dial is connected. If the server is silent, gRPC does not report why: the server may be out of reach,
// or busy with the handshakes of other clients. In the second case the kernel has connected, and shows that.
class Patience {
 public:
  Patience(const ConnectOptions& options, const std::vector<IpAddress>& addresses)
      : options_(options), addresses_(addresses), others_(CountConnected()) {}

  // Returns true once the channel is connected, false if it has failed to connect or time is up.
  bool AwaitConnected(grpc::Channel& channel) {
    const MonotonicTime begin = Now();
    MonotonicTime next_look = begin + options_.timeout;
    while (!options_.is_cancelled()) {
      const grpc_connectivity_state state = channel.GetState(true);
      if (state == GRPC_CHANNEL_READY) {
        if (has_reached_) options_.on_waiting();
        return true;
      }
      if (state == GRPC_CHANNEL_TRANSIENT_FAILURE || state == GRPC_CHANNEL_SHUTDOWN) return false;
      channel.WaitForStateChange(state, GrpcDeadline(kPollInterval));
      if (Now() < next_look || channel.GetState(false) == GRPC_CHANNEL_READY) continue;
      if (CountConnected() <= others_) return false;
      has_reached_ = true;
      if (Now() - begin >= options_.turn_timeout) return false;
      options_.on_waiting();
      next_look = std::min(Now() + options_.timeout, begin + options_.turn_timeout);
    }
    return false;
  }

  absl::Status TimeIsUp() const {
    return absl::DeadlineExceededError(
        has_reached_ ? absl::StrCat("its machine has accepted the connection, but the scheduler did not answer within ",
                                    absl::FormatDuration(std::max(options_.timeout, options_.turn_timeout)))
                     : absl::StrCat("no answer to the connect within ", absl::FormatDuration(options_.timeout)));
  }

 private:
  static MonotonicTime Now() { return Clock::System().Read().monotonic; }
  // Returns how many connections this process has to the scheduler. Also makes the kernel watch these for a dead peer.
  int CountConnected() const { return SetDeadPeerDetectionTowards(addresses_, options_.port); }

  const ConnectOptions& options_;
  const std::vector<IpAddress>& addresses_;
  const int others_;
  bool has_reached_ = false;
};

}  // namespace

std::vector<std::string> Targets(const std::vector<IpAddress>& addresses, uint16_t port) {
  std::vector<std::string> targets;
  std::vector<bool> is_v6;
  for (const IpAddress& address : addresses) {
    const std::string text = JoinHostPort(address.ToString(), port);
    const auto found = std::find(is_v6.begin(), is_v6.end(), address.is_v6());
    if (found == is_v6.end()) {
      is_v6.push_back(address.is_v6());
      targets.push_back(absl::StrCat(address.is_v6() ? "ipv6:" : "ipv4:", text));
    } else {
      absl::StrAppend(&targets[static_cast<size_t>(found - is_v6.begin())], ",", text);
    }
  }
  return targets;
}

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& target,
                                           const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                                           absl::Duration connect_limit) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstBackOffMs);
  // gRPC also takes this option as the time limit of one connect.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, static_cast<int>(absl::ToInt64Milliseconds(connect_limit)));
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kMaxBackOffMs);
  // Switches off gRPC's measurement of the throughput, which nothing needs: it would add a PING and its answer to each
  // of our messages, which are small and rare.
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetMaxReceiveMessageSize(static_cast<int>(kMaxPeerListBytes) + kReplyOverhead);
  return grpc::CreateCustomChannel(target, credentials, arguments);
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> Connect(const ConnectOptions& options) {
  const absl::StatusOr<std::vector<IpAddress>> addresses = ResolveHost(options.host);
  if (!addresses.ok()) return addresses.status();
  if (options.security.tls == nullptr && options.security.requires_tls) {
    if (absl::Status status = CheckPlaintext(options.host, *addresses); !status.ok()) return status;
  }
  const std::shared_ptr<grpc::ChannelCredentials> credentials =
      options.security.tls == nullptr
          ? grpc::InsecureChannelCredentials()
          : MakeClientCredentials(options.security.tls, options.host, options.job_id, options.handshake_result);
  std::shared_ptr<grpc::Channel> channel;
  absl::Status time_is_up;
  for (const std::string& target : Targets(*addresses, options.port)) {
    Patience patience(options, *addresses);
    channel = MakeChannel(target, credentials, std::max(options.timeout, options.turn_timeout) + kPatienceEndsFirst);
    if (patience.AwaitConnected(*channel)) {
      SetDeadPeerDetectionTowards(*addresses, options.port);
      return channel;
    }
    if (options.is_cancelled()) return absl::CancelledError("given up");
    if (channel->GetState(false) != GRPC_CHANNEL_TRANSIENT_FAILURE) channel = nullptr;
    time_is_up = patience.TimeIsUp();
  }
  if (channel == nullptr) return time_is_up;
  return channel;  // the first call on it fails with the reason
}

}  // namespace muster::agent
