#include "worker_agent/gateway/torch_store/gateway.h"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/net/net.h"
#include "common/sys/log.h"
#include "worker_agent/gateway/torch_store/allowed_peers.h"

namespace muster::agent {
namespace {

constexpr size_t kConnectionsOfRank = 16;  // a process has one, and one more for each store that it clones or makes
constexpr size_t kOtherConnections = 64;
constexpr uint64_t kOtherDescriptors = 256;

bool HasRank0(const v1::Assignment& assignment) {
  return assignment.role() == v1::ROLE_WORKER &&
         std::any_of(assignment.slots().begin(), assignment.slots().end(),
                     [](const v1::SlotAssignment& slot) { return slot.rank() == 0; });
}

void WarnOfDescriptors(uint32_t ranks) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= ranks + kOtherDescriptors) return;
  Log(Severity::kWarning,
      absl::StrCat("PyTorch's store needs a descriptor for each of ", ranks, " ranks, and this ms-worker may have ",
                   limit.rlim_cur, ": raise it (ulimit -n, LimitNOFILE=), or start with --torch_store=rank0"));
}

// All addresses, also where the kernel has no IPv6.
absl::Status ListenEverywhere(torch_store::Server& server, uint16_t port) {
  const absl::Status listens = server.Listen(*IpAddress::Parse("::"), port).status();
  if (listens.ok() || absl::IsAlreadyExists(listens)) return listens;
  return server.Listen(*IpAddress::Parse("0.0.0.0"), port).status();
}

}  // namespace

absl::Status TorchStoreGateway::Begin(const GatewayRound& round) {
  has_store_ = round.assignment.has_torch_store();
  const bool is_here = has_store_ && HasRank0(round.assignment);
  if (is_here && server_ != nullptr && run_ == round.run && round_ == round.round) return absl::OkStatus();
  server_.reset();
  return is_here ? Serve(round) : absl::OkStatus();
}

absl::Status TorchStoreGateway::Serve(const GatewayRound& round) {
  if (round.peers == nullptr) return absl::InternalError("the round's peer list is not known to rank 0's agent");
  const uint32_t ranks = round.assignment.worker_num() + round.assignment.server_num();
  WarnOfDescriptors(ranks);
  TcpServerOptions options;
  options.max_connections = kOtherConnections + kConnectionsOfRank * ranks;
  options.why_not = [allowed = std::make_shared<const AllowedPeers>(*round.peers, options_.networks)](
                        const SocketAddress& client, const SocketAddress& /*own*/) {
    if (client.address.is_loopback() || allowed->Contains(client.address)) return std::string();
    return IsLocalAddress(client.address) ? std::string() : WhyNotInRound(client.address);
  };
  absl::StatusOr<std::unique_ptr<torch_store::Server>> server =
      torch_store::Server::Start(std::move(options), torch_store::Limits(), clock_);
  if (!server.ok()) return server.status();
  const auto port = static_cast<uint16_t>(round.assignment.master_port());
  if (const absl::Status listens = ListenEverywhere(**server, port); !listens.ok()) {
    return absl::Status(listens.code(),
                        absl::StrCat(std::string(listens.message()),
                                     " (MASTER_PORT); end what has that port (ss -tlnp), "
                                     "choose another one with --torch_master_port, or start with --torch_store=rank0"));
  }
  server_ = *std::move(server);
  run_ = round.run;
  round_ = round.round;
  ListenWhereTheScriptSays(port);
  return absl::OkStatus();
}

void TorchStoreGateway::ListenWhereTheScriptSays(uint16_t master_port) {
  for (const uint16_t port : options_.script_ports) {
    if (port == master_port) continue;
    const absl::Status listens = ListenEverywhere(*server_, port);
    if (listens.ok()) {
      Log(Severity::kInfo, absl::StrCat("the script names port ", port, ": PyTorch's store listens there, too"));
    } else {
      Log(Severity::kWarning,
          absl::StrCat("the script names port ", port, ", but PyTorch's store ", std::string(listens.message()),
                       "; leave it to MASTER_PORT, or start with --torch_store=rank0"));
    }
  }
}

void TorchStoreGateway::Over(uint64_t /*run*/, uint32_t /*round*/) {
  server_.reset();
  has_store_ = false;
}

}  // namespace muster::agent
