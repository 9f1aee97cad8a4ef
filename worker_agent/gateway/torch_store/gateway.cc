#include "worker_agent/gateway/torch_store/gateway.h"

#include <sys/resource.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/os_error.h"
#include "common/base/text.h"
#include "common/net/net.h"
#include "common/net/peer_node.h"
#include "common/sys/log.h"
#include "worker_agent/gateway/torch_store/relay/links.h"

namespace muster::agent {

AllowedPeers::AllowedPeers(const v1::PeerList& peers, std::vector<IpNetwork> networks)
    : networks_(std::move(networks)) {
  const auto add = [this](const std::string& bytes) {
    if (const auto address = IpAddress::FromBytes(bytes)) addresses_.insert(*address);
  };
  for (const v1::PeerNode& node : peers.nodes()) {
    add(node.address());
    for (const std::string& other : node.other_addresses()) add(other);
  }
}

bool AllowedPeers::Contains(const IpAddress& address) const {
  return addresses_.contains(address) || std::any_of(networks_.begin(), networks_.end(), [&](const IpNetwork& network) {
           return network.Contains(address);
         });
}

std::string WhyNotInRound(const IpAddress& address) {
  return absl::StrCat(
      "no machine of this round has reported that address; if it is a translated address (NAT) of such a machine, ",
      "start rank 0's ms-worker with --torch_store_peers=", address.ToString());
}

LinkRules::LinkRules(const v1::PeerList& peers, std::vector<IpNetwork> networks)
    : job_(peers.job_id()), run_(peers.run()), round_(peers.round()), networks_(std::move(networks)) {
  for (const v1::PeerNode& peer : peers.nodes()) {
    Node& node = nodes_[peer.node_id()];
    node.ranks = static_cast<size_t>(SlotCount(peer));
    node.is_here = peer.machine() == peers.nodes(0).machine();
    if (const auto address = IpAddress::FromBytes(peer.address())) node.addresses.insert(*address);
    for (const std::string& other : peer.other_addresses()) {
      if (const auto address = IpAddress::FromBytes(other)) node.addresses.insert(*address);
    }
  }
}

// The conditions for serving a link:
//
//   its hello        is of this job, run and round, and names a node of the round
//   its address      was announced by that node, is in --torch_store_peers, or is this machine's and that node is here
//   its certificate  if it uses TLS, is that node's (WhyNotNode)
std::string LinkRules::WhyNot(const torch_store::LinkHello& hello, const IpAddress& from, bool is_here) const {
  if (hello.job != job_ || hello.run != run_ || hello.round != round_) return "its link is of another round";
  const auto node = nodes_.find(hello.node);
  if (node == nodes_.end()) return absl::StrCat(EscapeControl(hello.node), " is no node of this round");
  const bool is_known =
      node->second.addresses.contains(from) || (is_here && node->second.is_here) ||
      std::any_of(networks_.begin(), networks_.end(), [&](const IpNetwork& network) { return network.Contains(from); });
  if (is_known) return "";
  return absl::StrCat(EscapeControl(hello.node),
                      " has not reported that address; if it is an address of that node behind NAT",
                      ", start rank 0's ms-worker with --torch_store_peers=", from.ToString());
}

size_t LinkRules::RanksOf(const std::string& node) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? 0 : found->second.ranks;
}

std::string WhyNotNode(const std::optional<PeerName>& name, const std::string& job, const std::string& node) {
  if (!name || (name->CoversJob(job) && name->CoversNode(node))) return "";
  return absl::StrCat("its certificate is of ", name->ToUri(), ", which is not ", EscapeControl(node), " of job ",
                      EscapeControl(job));
}

namespace {

// A process has one connection, and one more for each store that it clones or makes.
constexpr size_t kConnectionsOfRank = 16;
constexpr uint64_t kOtherDescriptors = 256;

constexpr char kTooOld[] =
    "--torch_store_relay: another agent of this round, or ms-scheduler, has a version that does not support it, ";
constexpr char kNoPlainPort[] =
    "and with --require_tls PyTorch's store gets no plain port: update the old ones (ms-ctl nodes --json shows "
    "their versions), or start all agents with --torch_store_relay=false to accept a plain port";

bool HasRank0(const v1::Assignment& assignment) {
  return assignment.role() == v1::ROLE_WORKER &&
         std::any_of(assignment.slots().begin(), assignment.slots().end(),
                     [](const v1::SlotAssignment& slot) { return slot.rank() == 0; });
}

// Returns for how many connections this process has file descriptors; at least one for each rank.
size_t MostConnections(uint32_t ranks) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kConnectionsOfRank * ranks;
  const size_t most = limit.rlim_cur - std::min<rlim_t>(limit.rlim_cur, kOtherDescriptors);
  if (most < kConnectionsOfRank * ranks) {
    Log(Severity::kWarning,
        absl::StrCat("PyTorch's store has room for ", most, " connections, and ", ranks, " ranks may want ",
                     kConnectionsOfRank, " each: ms-worker may open ", limit.rlim_cur,
                     " descriptors; raise that limit (ulimit -n, LimitNOFILE=), or start with --torch_store=rank0"));
  }
  return std::max<size_t>(most, ranks);
}

void SayWhere(const v1::Assignment& assignment, uint32_t port) {
  Log(Severity::kInfo,
      absl::StrCat("this machine's processes reach PyTorch's store at MASTER_ADDR=127.0.0.1 and MASTER_PORT=", port,
                   ", through their agent (--torch_store_relay); MUSTER_RANK0_ADDR is rank 0's machine, ",
                   assignment.master_address()));
}

}  // namespace

absl::Status TorchStoreGateway::Begin(const GatewayRound& round) {
  has_store_ = round.assignment.has_torch_store();
  return RoundGateway::Begin(round);
}

absl::StatusOr<std::unique_ptr<TorchStoreServers>> TorchStoreGateway::ServerFor(const GatewayRound& round) {
  if (LacksRelays(round)) {
    if (options_.is_plain_port_refused) return absl::FailedPreconditionError(absl::StrCat(kTooOld, kNoPlainPort));
    Log(Severity::kWarning,
        absl::StrCat(kTooOld,
                     "so PyTorch's store has an open port for the machines of the round; use one version of "
                     "Muster"));
  }
  auto servers = std::make_unique<TorchStoreServers>();
  absl::Status served;
  if (has_store_ && HasRank0(round.assignment)) {
    served = Serve(round, *servers);
  } else if (has_store_ && !round.assignment.torch_store_node().empty()) {
    served = ServeByRelay(round, *servers);
  }
  if (!served.ok()) return served;
  return servers;
}

bool TorchStoreGateway::LacksRelays(const GatewayRound& round) const {
  const v1::Assignment& assignment = round.assignment;
  const bool has_others = round.peers == nullptr || round.peers->nodes_size() > 1;
  return options_.is_relay_asked && assignment.has_torch_store() && HasRank0(assignment) && has_others &&
         assignment.torch_store_node().empty();
}

void TorchStoreGateway::AddTo(EnvironmentInput& input) const {
  input.has_torch_store = has_store_;
  input.local_store_port = server()->local_port;
}

torch_store::LinksOptions TorchStoreGateway::LinksFor(const GatewayRound& round) const {
  torch_store::LinksOptions links;
  links.needs_tls = options_.tls != nullptr;
  const auto rules = std::make_shared<const LinkRules>(*round.peers, options_.networks);
  links.places_of = [rules](const std::string& node) { return kConnectionsOfRank * rules->RanksOf(node); };
  links.why_not = [rules, job = options_.job_id](const torch_store::LinkHello& hello, const TcpClient& client) {
    const std::string why = rules->WhyNot(hello, client.address, IsLocalAddress(client.address));
    return why.empty() ? WhyNotNode(client.name, job, hello.node) : why;
  };
  return links;
}

absl::Status TorchStoreGateway::ServeByRelay(const GatewayRound& round, TorchStoreServers& servers) const {
  const v1::Assignment& assignment = round.assignment;
  const auto address = IpAddress::Parse(assignment.master_address());
  if (!address) {
    return absl::InternalError(absl::StrCat("rank 0's address, ", assignment.master_address(), ", is not numeric"));
  }
  torch_store::RelayOptions options;
  options.store = {*address, static_cast<uint16_t>(assignment.master_port())};
  options.hello.run = round.run;
  options.hello.round = round.round;
  options.hello.job = options_.job_id;
  options.hello.node = round.node_id;
  options.tls = options_.tls;
  options.why_not = [job = options_.job_id, node = assignment.torch_store_node()](const std::optional<PeerName>& name) {
    return WhyNotNode(name, job, node);
  };
  options.max_connections = kConnectionsOfRank * static_cast<size_t>(assignment.slots_size());
  absl::StatusOr<std::unique_ptr<torch_store::Service>> relay = torch_store::StartRelay(std::move(options), clock_);
  if (!relay.ok()) return relay.status();
  const absl::StatusOr<uint16_t> port = ListenForRelay(**relay, IsLocalAddress(*address));
  if (!port.ok()) return port.status();
  servers.relay = *std::move(relay);
  servers.local_port = *port;
  SayWhere(assignment, *port);
  return absl::OkStatus();
}

// On the store's machine the store itself has the wanted port and the script's ports, so the relay takes any free port.
absl::StatusOr<uint16_t> TorchStoreGateway::ListenForRelay(torch_store::Service& relay, bool is_store_here) const {
  const uint16_t wanted = is_store_here ? 0 : options_.wanted_port;
  absl::StatusOr<uint16_t> port = relay.ListenOnLoopback(wanted);
  const auto& named = options_.script_ports;
  if (absl::IsAlreadyExists(port.status()) && std::find(named.begin(), named.end(), wanted) == named.end()) {
    Log(Severity::kInfo, absl::StrCat("--torch_master_port: port ", wanted,
                                      " of this machine is in use, maybe by another agent: this agent takes a free "
                                      "one, which its processes get as MASTER_PORT"));
    port = relay.ListenOnLoopback(0);
  }
  if (!port.ok()) {
    return Reworded(port.status(),
                    absl::StrCat(std::string(port.status().message()),
                                 "; end the process that has that port (ss -tlnp), or choose another one with "
                                 "--torch_master_port"));
  }
  for (const uint16_t also : options_.script_ports) {
    if (is_store_here || also == *port) continue;
    if (const absl::StatusOr<uint16_t> listens = relay.ListenOnLoopback(also); !listens.ok()) {
      return Reworded(listens.status(), absl::StrCat(std::string(listens.status().message()),
                                                     ", a port that the script names; let the script use "
                                                     "MASTER_PORT"));
    }
  }
  return port;
}

absl::Status TorchStoreGateway::Serve(const GatewayRound& round, TorchStoreServers& servers) const {
  if (round.peers == nullptr) return absl::InternalError("the round's peer list is not known to rank 0's agent");
  const uint32_t ranks = round.assignment.worker_num() + round.assignment.server_num();
  TcpServerOptions options;
  options.max_connections = MostConnections(ranks);
  options.why_not = [allowed = std::make_shared<const AllowedPeers>(*round.peers, options_.networks)](
                        const SocketAddress& client, const SocketAddress& /*own*/) {
    if (client.address.is_loopback() || allowed->Contains(client.address)) return std::string();
    return IsLocalAddress(client.address) ? std::string() : WhyNotInRound(client.address);
  };
  torch_store::LinksOptions links;
  if (!round.assignment.torch_store_node().empty()) {
    links = LinksFor(round);
    // Most clients come over links, and need no descriptor here.
    links.max_clients = std::max(options.max_connections, kConnectionsOfRank * ranks);
    options.tls = options_.tls;
    if (options.tls != nullptr) options.plain_from = PlainFrom::kThisMachine;
  }
  const bool is_relayed = static_cast<bool>(links.why_not);
  absl::StatusOr<std::unique_ptr<torch_store::Service>> store =
      torch_store::StartServer(std::move(options), torch_store::Limits(), clock_, std::move(links));
  if (!store.ok()) return store.status();
  const auto port = static_cast<uint16_t>(round.assignment.master_port());
  if (const absl::Status listens = (*store)->ListenEverywhere(port).status(); !listens.ok()) {
    return absl::Status(listens.code(),
                        absl::StrCat(std::string(listens.message()),
                                     " (MASTER_PORT); end the process that has that port (ss -tlnp), "
                                     "choose another one with --torch_master_port, or start with --torch_store=rank0"));
  }
  if (absl::Status listens = ListenWhereTheScriptSays(**store, port); !listens.ok()) return listens;
  servers.store = *std::move(store);
  if (is_relayed) {
    servers.local_port = port;
    SayWhere(round.assignment, port);
  }
  return absl::OkStatus();
}

// Returns an error if such a port is taken: another job's store may have it, and the script's clients would use that
// store.
absl::Status TorchStoreGateway::ListenWhereTheScriptSays(torch_store::Service& store, uint16_t master_port) const {
  for (const uint16_t port : options_.script_ports) {
    if (port == master_port) continue;
    if (const absl::Status listens = store.ListenEverywhere(port).status(); !listens.ok()) {
      return absl::Status(listens.code(),
                          absl::StrCat(std::string(listens.message()),
                                       ", a port that the script names; let the script use MASTER_PORT"));
    }
    Log(Severity::kInfo, absl::StrCat("the script names port ", port, ": PyTorch's store listens there, too"));
  }
  return absl::OkStatus();
}

void TorchStoreGateway::Over(uint64_t /*run*/, uint32_t /*round*/) {
  End();
  has_store_ = false;
}

}  // namespace muster::agent
