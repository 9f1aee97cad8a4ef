#include "worker_agent/gateway/mindspore/gateway.h"

#include <unistd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/mindspore/server.h"
#include "common/store/job_store.h"
#include "common/sys/log.h"
#include "common/tls/tls_store.h"
#include "worker_agent/gateway/chassis/gateway.h"
#include "worker_agent/gateway/chassis/socket_owner.h"
#include "worker_agent/gateway/mindspore/slots.h"

namespace muster::agent {
namespace {

constexpr size_t kConnectionsEach = 64;  // of a slot; a process has two

void WarnOnce() {
  static const bool is_said = [] {
    Log(Severity::kWarning,
        "MindSpore's gateway: the kernel does not tell whose a connection is (sock_diag); processes of all users of "
        "this machine are served");
    return true;
  }();
  static_cast<void>(is_said);
}

class MindSporeGateway final : public Gateway {
 public:
  // `store` and `clock` must outlive this. Nothing listens before the first round.
  MindSporeGateway(MindSporeGatewayOptions options, JobStore& store, const Clock& clock);

  // From then on the ports are open at the round's own address.
  absl::Status Begin(const GatewayRound& round) override;
  void AddTo(EnvironmentInput& input) const override;

 private:
  const MindSporeGatewayOptions options_;
  const Clock& clock_;
  MindSporeSlots slots_;
  std::unique_ptr<mindspore::Server> server_;  // asks slots_
  std::string address_;                        // where all ports it listens; empty: nowhere
};

MindSporeGateway::MindSporeGateway(MindSporeGatewayOptions options, JobStore& store, const Clock& clock)
    : options_(std::move(options)), clock_(clock), slots_(store, options_.store_has_room) {}

absl::Status MindSporeGateway::Begin(const GatewayRound& round) {
  const std::optional<IpAddress> own_address = IpAddress::Parse(round.own_address);
  if (!own_address) {
    return absl::UnavailableError("this node's own address is not known for MindSpore processes; set MS_WORKER_IP");
  }
  slots_.BeginRound(round);
  if (server_ == nullptr) {
    TcpServerOptions server;
    server.max_connections = kConnectionsEach * options_.ports.size();
    server.why_not = [](const SocketAddress& client, const SocketAddress& own) {
      const SocketOwner owner = OwnerOf(client, own);
      if (owner.answer == SocketOwner::Answer::kCannotBeAsked) WarnOnce();
      return WhyNotServed(client, owner, geteuid());
    };
    server.tls = options_.tls;
    absl::StatusOr<std::unique_ptr<mindspore::Server>> started =
        mindspore::Server::Start(std::move(server), slots_, clock_);
    if (!started.ok()) return started.status();
    server_ = *std::move(started);
  }
  const std::string address = own_address->ToString();
  if (address == address_) return absl::OkStatus();
  address_.clear();  // what fails half-way is tried again as a whole
  for (uint32_t slot = 0; slot < options_.ports.size(); ++slot) {
    server_->StopListening(slot);
    const absl::StatusOr<uint16_t> port = server_->Listen(*own_address, options_.ports[slot], slot);
    if (!port.ok()) {
      return absl::Status(port.status().code(),
                          absl::StrCat(std::string(port.status().message()),
                                       "; correct MS_WORKER_IP, or switch this off with --mindspore_gateway off"));
    }
  }
  address_ = address;
  return absl::OkStatus();
}

void MindSporeGateway::AddTo(EnvironmentInput& input) const {
  input.scheduler_host = address_;
  input.scheduler_port = options_.ports[input.slot];
  input.has_gateway = true;
}

}  // namespace

std::unique_ptr<Gateway> MakeMindSporeGateway(MindSporeGatewayOptions options, JobStore& store, const Clock& clock) {
  return std::make_unique<MindSporeGateway>(std::move(options), store, clock);
}

}  // namespace muster::agent
