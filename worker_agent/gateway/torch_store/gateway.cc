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
constexpr uint64_t kOtherDescriptors = 256;

bool HasRank0(const v1::Assignment& assignment) {
  return assignment.role() == v1::ROLE_WORKER &&
         std::any_of(assignment.slots().begin(), assignment.slots().end(),
                     [](const v1::SlotAssignment& slot) { return slot.rank() == 0; });
}

// As many connections as descriptors are left for.
size_t MostConnections(uint32_t ranks) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kConnectionsOfRank * ranks;
  const size_t most = limit.rlim_cur - std::min<rlim_t>(limit.rlim_cur, kOtherDescriptors);
  if (most < kConnectionsOfRank * ranks) {
    Log(Severity::kWarning,
        absl::StrCat("PyTorch's store has room for ", most, " connections, and ", ranks, " ranks may want ",
                     kConnectionsOfRank, " each: ms-worker may have ", limit.rlim_cur,
                     " descriptors, raise that (ulimit -n, LimitNOFILE=), or start with --torch_store=rank0"));
  }
  return std::max<size_t>(most, ranks);
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
  TcpServerOptions options;
  options.max_connections = MostConnections(ranks);
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
  if (absl::Status listens = ListenWhereTheScriptSays(**server, port); !listens.ok()) return listens;
  server_ = *std::move(server);
  run_ = round.run;
  round_ = round.round;
  return absl::OkStatus();
}

// Where that is not to be had, another job's store may be there, which its clients would take for theirs.
absl::Status TorchStoreGateway::ListenWhereTheScriptSays(torch_store::Server& server, uint16_t master_port) const {
  for (const uint16_t port : options_.script_ports) {
    if (port == master_port) continue;
    if (const absl::Status listens = ListenEverywhere(server, port); !listens.ok()) {
      return absl::Status(listens.code(), absl::StrCat(std::string(listens.message()),
                                                       ", a port that the script names; leave it to MASTER_PORT"));
    }
    Log(Severity::kInfo, absl::StrCat("the script names port ", port, ": PyTorch's store listens there, too"));
  }
  return absl::OkStatus();
}

void TorchStoreGateway::Over(uint64_t /*run*/, uint32_t /*round*/) {
  server_.reset();
  has_store_ = false;
}

}  // namespace muster::agent
