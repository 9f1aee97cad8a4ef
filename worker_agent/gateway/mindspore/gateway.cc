#include "worker_agent/gateway/mindspore/gateway.h"

#include <unistd.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/clock.h"
#include "common/base/limits.h"
#include "common/base/text.h"
#include "common/mindspore/server.h"
#include "common/net/peer_node.h"
#include "common/store/job_store.h"
#include "common/sys/log.h"
#include "worker_agent/gateway/chassis/gateway.h"
#include "worker_agent/gateway/chassis/socket_owner.h"

namespace muster::agent {
namespace {

constexpr size_t kConnectionsEach = 64;  // of a slot; a process has two

void WarnOnce() {
  static const bool is_said = [] {
    Log(Severity::kWarning,
        "MindSpore's gateway: the kernel does not show the user of a connection (sock_diag), so processes of all users "
        "of this machine are served");
    return true;
  }();
  static_cast<void>(is_said);
}

class MindSporeGateway final : public Gateway {
 public:
  // `store` and `clock` must outlive this. It doesn't listen before the first round.
  MindSporeGateway(MindSporeGatewayOptions options, JobStore& store, const Clock& clock);

  // Opens the ports at the round's own address. They stay open until this object's end.
  absl::Status Begin(const GatewayRound& round) override;
  void AddTo(EnvironmentInput& input) const override;

 private:
  const MindSporeGatewayOptions options_;
  const Clock& clock_;
  MindSporeSlots slots_;
  std::unique_ptr<mindspore::Server> server_;  // asks slots_
  std::string address_;                        // the address at which all ports listen; empty: they do not
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
  address_.clear();  // if one port fails, the next Begin tries all again
  for (uint32_t slot = 0; slot < options_.ports.size(); ++slot) {
    server_->StopListening(slot);
    const absl::StatusOr<uint16_t> port = server_->Listen(*own_address, options_.ports[slot], slot);
    if (!port.ok()) {
      return absl::Status(
          port.status().code(),
          absl::StrCat(std::string(port.status().message()),
                       "; correct MS_WORKER_IP, or switch the gateway off with --mindspore_gateway off"));
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

std::vector<std::string> NamesOfRanks(const v1::PeerList& peers, v1::Role role, uint32_t own_machine,
                                      const std::string& own_name) {
  std::map<uint32_t, std::string> names = {{own_machine, own_name}};
  std::set<std::string> taken = {own_name};
  for (const v1::PeerNode& node : peers.nodes()) {
    if (names.contains(node.machine())) continue;
    std::string name = node.host_name();
    if (!taken.insert(name).second) {
      absl::StrAppend(&name, "~", node.machine());
      taken.insert(name);
    }
    names[node.machine()] = name;
  }
  std::vector<std::string> result(role == v1::ROLE_SERVER ? peers.server_num() : peers.worker_num());
  for (const v1::PeerNode& node : peers.nodes()) {
    if (node.role() != role) continue;
    for (int slot = 0; slot < SlotCount(node); ++slot) {
      if (const uint32_t rank = RankOf(node, slot); rank < result.size()) result[rank] = names[node.machine()];
    }
  }
  return result;
}

namespace {

using mindspore::Admission;
using mindspore::Health;
using mindspore::IsNumber;
using mindspore::kFirstSharedPort;
using mindspore::kLastSharedPort;
using mindspore::LeaveResult;
using mindspore::Peer;
using mindspore::Refuse;

constexpr char kPortRanges[] = "node_port_range";
constexpr size_t kMaxLeft = 4096;
constexpr uint32_t kPortsEach = 2048;  // ports of one process, as many as MindSpore's own scheduler gives it

}  // namespace

std::optional<v1::Role> RoleOfMindSpore(const std::string& role) {
  if (role == "MS_WORKER") return v1::ROLE_WORKER;
  if (role == "MS_PSERVER" || role == "MS_SERVER") return v1::ROLE_SERVER;
  return std::nullopt;
}

// Called again within a round when some processes restart: the other processes stay registered.
void MindSporeSlots::BeginRound(GatewayRound round) {
  const MutexLock lock(mutex_);
  if (round.run != round_.run || round.round != round_.round) {
    processes_.clear();
    left_.clear();
  }
  round_ = std::move(round);
}

std::optional<uint32_t> MindSporeSlots::RankFor(uint32_t slot, const std::string& node_id) const {
  const v1::Assignment& assignment = round_.assignment;
  if (slot >= static_cast<uint32_t>(assignment.slots_size())) return std::nullopt;
  if (!IsNumber(node_id)) return assignment.slots(static_cast<int>(slot)).rank();
  uint32_t number = 0;
  if (!absl::SimpleAtoi(node_id, &number)) return std::nullopt;
  for (const v1::SlotAssignment& own : assignment.slots()) {
    if (own.rank() == number) return number;
  }
  return std::nullopt;
}

std::optional<uint32_t> MindSporeSlots::RankOfNode(const std::string& node_id) const {
  for (const auto& [rank, process] : processes_) {
    if (process.node_id == node_id) return rank;
  }
  return std::nullopt;
}

uint32_t MindSporeSlots::NodeCount() const { return round_.assignment.worker_num() + round_.assignment.server_num(); }

Admission MindSporeSlots::Register(const Peer& peer, const mindspore::Registration& registration) {
  const std::string& node_id = registration.node_id();
  const MutexLock lock(mutex_);
  if (node_id.empty() || node_id.size() > kMaxIdBytes) {
    return Refuse(
        absl::StrCat("a node id must have 1 to ", kMaxIdBytes, " bytes; leave MS_NODE_ID as ms-worker set it"));
  }
  const std::optional<v1::Role> role = RoleOfMindSpore(registration.role());
  if (role != round_.assignment.role()) {
    return Refuse(absl::StrCat("the role is ", Quoted(registration.role()), ", but this process was started as ",
                               round_.assignment.role() == v1::ROLE_SERVER ? "MS_PSERVER" : "MS_WORKER",
                               "; leave MS_ROLE as ms-worker set it"));
  }
  const std::optional<uint32_t> rank = RankFor(peer.listener, node_id);
  if (!rank) {
    return Refuse(absl::StrCat("MS_NODE_ID is ", Quoted(node_id),
                               ", which is no rank of this node in the current round; leave MS_NODE_ID as ms-worker "
                               "set it"));
  }
  Process& process = processes_[*rank];
  if (!process.node_id.empty() && process.node_id != node_id && process.connection != 0) {
    return Refuse(absl::StrCat("rank ", *rank, " is taken by the process with MS_NODE_ID ", Quoted(process.node_id),
                               ", which is still connected; ", Quoted(node_id), " means the same rank"));
  }
  process = {node_id, peer.connection};
  left_.erase(node_id);
  return {true, *rank, NodeCount(), ""};
}

LeaveResult MindSporeSlots::Unregister(const Peer&, const std::string& node_id) {
  const MutexLock lock(mutex_);
  // A client repeats the request, perhaps for ever, if the answer to its first one came too late.
  if (left_.contains(node_id)) return LeaveResult::kDone;
  const std::optional<uint32_t> rank = RankOfNode(node_id);
  if (!rank) return LeaveResult::kUnknownNode;
  processes_.erase(*rank);
  if (left_.size() >= kMaxLeft) left_.erase(left_.begin());
  left_.insert(node_id);
  return LeaveResult::kDone;
}

std::optional<Health> MindSporeSlots::Heartbeat(const Peer&, const std::string& node_id) {
  const MutexLock lock(mutex_);
  if (!RankOfNode(node_id)) return std::nullopt;
  return Health{mindspore::TopologyState::kInitialized, NodeCount(), 0};
}

std::optional<std::vector<std::string>> MindSporeSlots::HostNames(const Peer&, const std::string& role_name) {
  const MutexLock lock(mutex_);
  const std::optional<v1::Role> role = RoleOfMindSpore(role_name);
  if (!role || round_.peers == nullptr) return std::nullopt;
  return NamesOfRanks(*round_.peers, *role, round_.assignment.node_rank(), round_.host_name);
}

std::optional<std::string> MindSporeSlots::Published(const Peer&, const std::string& key) {
  const MutexLock lock(mutex_);
  if (key == kPortRanges) return PortRanges();
  for (const char* role : {"MS_WORKER", "MS_PSERVER", "MS_SERVER"}) {
    if (!absl::StartsWith(key, role)) continue;
    const std::string node_id(absl::StripPrefix(key, role));
    if (const std::optional<uint32_t> rank = RankOfNode(node_id)) return std::to_string(*rank);
  }
  return std::nullopt;
}

// Versions of MindSpore up to 2.4.1 look for a range under their node id or their host name.
std::string MindSporeSlots::PortRanges() const {
  mindspore::PortRanges ranges;
  mindspore::PortRange whole;
  whole.set_min_port(kFirstSharedPort);
  whole.set_max_port(kLastSharedPort);
  (*ranges.mutable_ranges())[round_.host_name] = whole;
  constexpr uint32_t kRanges = (kLastSharedPort + 1 - kFirstSharedPort) / kPortsEach;
  for (const v1::SlotAssignment& slot : round_.assignment.slots()) {
    const auto process = processes_.find(slot.rank());
    if (process == processes_.end()) continue;
    mindspore::PortRange range;
    range.set_min_port(kFirstSharedPort + slot.local_rank() % kRanges * kPortsEach);
    range.set_max_port(range.min_port() + kPortsEach - 1);
    (*ranges.mutable_ranges())[process->second.node_id] = range;
  }
  return ranges.SerializeAsString();
}

void MindSporeSlots::ConnectionClosed(const Peer& peer) {
  const MutexLock lock(mutex_);
  for (auto& [rank, process] : processes_) {
    if (process.connection == peer.connection) process.connection = 0;
  }
}

std::set<uint64_t> MindSporeSlots::Needed() {
  const MutexLock lock(mutex_);
  std::set<uint64_t> needed;
  for (const auto& [rank, process] : processes_) {
    if (process.connection != 0) needed.insert(process.connection);
  }
  return needed;
}

}  // namespace muster::agent
