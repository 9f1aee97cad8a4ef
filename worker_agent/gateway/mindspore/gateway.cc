#include "worker_agent/gateway/mindspore/gateway.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/net.h"

namespace muster::agent {
namespace {

constexpr size_t kConnectionsEach = 64;  // of a slot; a process has two

bool IsOfThisMachine(const IpAddress& address) { return address.is_loopback() || IsLocalAddress(address); }

}  // namespace

MindSporeGateway::MindSporeGateway(MindSporeGatewayOptions options, JobStore& store, const Clock& clock)
    : options_(std::move(options)), clock_(clock), slots_(store, options_.store_has_room) {}

absl::Status MindSporeGateway::BeginRound(const IpAddress& own_address, GatewayRound round) {
  slots_.BeginRound(std::move(round));
  if (server_ == nullptr) {
    mindspore::ServerOptions server;
    server.max_connections = kConnectionsEach * options_.ports.size();
    server.lets_in = IsOfThisMachine;
    server.tls = options_.tls;
    absl::StatusOr<std::unique_ptr<mindspore::Server>> started =
        mindspore::Server::Start(std::move(server), slots_, clock_);
    if (!started.ok()) return started.status();
    server_ = *std::move(started);
  }
  const std::string address = own_address.ToString();
  if (address == address_) return absl::OkStatus();
  for (uint32_t slot = 0; slot < options_.ports.size(); ++slot) {
    server_->StopListening(slot);
    const absl::StatusOr<uint16_t> port = server_->Listen(own_address, options_.ports[slot], slot);
    if (!port.ok()) {
      return absl::Status(port.status().code(),
                          absl::StrCat(std::string(port.status().message()),
                                       "; correct MS_WORKER_IP, or switch this off with --mindspore_gateway off"));
    }
  }
  address_ = address;
  return absl::OkStatus();
}

}  // namespace muster::agent
