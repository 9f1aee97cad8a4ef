#include "worker_agent/session/channel.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/grpc_deadline.h"
#include "common/limits.h"
#include "common/net.h"
#include "common/tls/plaintext.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kPollInterval = absl::Milliseconds(200);
constexpr int kFirstBackOffMs = 100;
constexpr int kLongestBackOffMs = 3000;
constexpr int kReplyOverhead = 1024;  // what GetPeersReply adds to the peer list

// Waits until the channel is connected (true) or has failed to connect or time is up (false).
bool WaitUntilConnected(grpc::Channel& channel, const ConnectOptions& options) {
  const absl::Duration slices = options.timeout / kPollInterval * kPollInterval;
  for (absl::Duration waited; waited < slices && !options.is_cancelled();) {
    const grpc_connectivity_state state = channel.GetState(true);
    if (state == GRPC_CHANNEL_READY) return true;
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE || state == GRPC_CHANNEL_SHUTDOWN) return false;
    if (!channel.WaitForStateChange(state, GrpcDeadline(kPollInterval))) waited += kPollInterval;
  }
  return false;
}

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
                                           const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstBackOffMs);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 10'000);  // also the time limit of one connect
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLongestBackOffMs);
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
          : MakeClientCredentials(options.security.tls, options.host, options.job_id, options.verdict);
  std::shared_ptr<grpc::Channel> channel;
  for (const std::string& target : Targets(*addresses, options.port)) {
    channel = MakeChannel(target, credentials);
    if (WaitUntilConnected(*channel, options)) {
      SetDeadPeerDetectionTowards(*addresses, options.port);
      return channel;
    }
    if (options.is_cancelled()) return absl::CancelledError("given up");
    if (channel->GetState(false) != GRPC_CHANNEL_TRANSIENT_FAILURE) channel = nullptr;
  }
  if (channel == nullptr) {
    return absl::DeadlineExceededError(
        absl::StrCat("no answer to the connect within ", absl::FormatDuration(options.timeout)));
  }
  return channel;  // the first call on it fails with the reason
}

}  // namespace muster::agent
