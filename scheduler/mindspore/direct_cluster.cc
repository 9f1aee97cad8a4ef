#include "scheduler/mindspore/direct_cluster.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/limits.h"
#include "common/text.h"

namespace muster::scheduler {
namespace {

using mindspore::Admission;
using mindspore::Health;
using mindspore::IsNumber;
using mindspore::LeaveResult;
using mindspore::Peer;
using mindspore::Refuse;

constexpr char kWorker[] = "MS_WORKER";
constexpr char kServer[] = "MS_PSERVER";
constexpr absl::Duration kDeathGrace = absl::Seconds(2);      // for a process that connects anew
constexpr absl::Duration kClosedTogether = absl::Seconds(1);  // both connections of one process
constexpr size_t kMostAddresses = 4096;

// Newer versions call a parameter server MS_SERVER.
std::string Canonical(const std::string& role) { return role == "MS_SERVER" ? kServer : role; }

}  // namespace

uint32_t DirectCluster::Wanted(const std::string& role) const {
  if (role == kWorker) return options_.worker_num;
  return role == kServer ? options_.server_num : 0;
}

uint32_t DirectCluster::Count(const std::string& role) const {
  return static_cast<uint32_t>(
      std::count_if(nodes_.begin(), nodes_.end(), [&](const auto& entry) { return entry.second.role == role; }));
}

uint32_t DirectCluster::DeadCount() const {
  return static_cast<uint32_t>(
      std::count_if(nodes_.begin(), nodes_.end(), [](const auto& entry) { return entry.second.is_dead; }));
}

// Why a node that is not known yet is not taken in; empty: it is.
std::string DirectCluster::WhyNot(const std::string& node_id, const std::string& role) const {
  const uint32_t wanted = Wanted(role);
  if (wanted == 0) {
    return absl::StrCat("the role ", Quoted(role), " is not part of this cluster: MS_WORKER_NUM is ",
                        options_.worker_num, " and MS_SERVER_NUM ", options_.server_num, " at the scheduler");
  }
  if (Count(role) >= wanted) {
    return absl::StrCat("this node is one too many: ", wanted, " of the role ", role,
                        " are here; correct MS_WORKER_NUM or MS_SERVER_NUM at the scheduler, or start fewer");
  }
  if (state_ != State::kInitializing) return "the cluster is no longer forming; start again when its processes ended";
  for (const auto& [id, node] : nodes_) {
    if (node.role != role) continue;
    if (IsNumber(id) != IsNumber(node_id)) {
      return absl::StrCat("MS_NODE_ID ", Quoted(node_id), " and ", Quoted(id),
                          " mix numbers with names; use one of the two for all");
    }
  }
  if (!IsNumber(node_id)) return "";
  uint32_t number = 0;
  if (!absl::SimpleAtoi(node_id, &number) || number >= wanted) {
    return absl::StrCat("MS_NODE_ID ", Quoted(node_id), " is a rank out of range: there are ", wanted, " of the role ",
                        role, ", so ranks end at ", wanted - 1);
  }
  for (const auto& [id, node] : nodes_) {
    uint32_t other = 0;
    if (node.role == role && absl::SimpleAtoi(id, &other) && other == number) {
      return absl::StrCat("MS_NODE_ID ", Quoted(node_id), " and ", Quoted(id), " both mean rank ", number);
    }
  }
  return "";
}

Admission DirectCluster::Register(const Peer& peer, const mindspore::Registration& registration, MonotonicTime now) {
  const std::string& node_id = registration.node_id();
  const std::string role = Canonical(registration.role());
  if (node_id.empty() || node_id.size() > kMaxIdBytes) {
    return Refuse(absl::StrCat("MS_NODE_ID must have 1 to ", kMaxIdBytes, " bytes"));
  }
  if (peer.name && !peer.name->CoversNode(node_id)) {
    return Refuse(absl::StrCat("the certificate is ", peer.name->ToUri(), ", but MS_NODE_ID is ", Quoted(node_id)));
  }
  const auto found = nodes_.find(node_id);
  if (found == nodes_.end()) {
    if (const std::string why = WhyNot(node_id, role); !why.empty()) {
      Say(LogLevel::kWarning, absl::StrCat("a MindSpore process at ", peer.address.ToString(), " was refused: ", why));
      return Refuse(why);
    }
    Node node{role, registration.host_name().substr(0, kMaxHostNameBytes), peer.address, 0, 0, now};
    uint32_t number = 0;
    node.rank = IsNumber(node_id) && absl::SimpleAtoi(node_id, &number) ? number : Count(role);  // provisional
    nodes_.emplace(node_id, std::move(node));
    left_.erase(node_id);
    if (began_.is_never()) began_ = now;
  } else if (found->second.connection != 0 && found->second.connection != peer.connection) {
    return Refuse(absl::StrCat("MS_NODE_ID ", Quoted(node_id), " is in use by a process at ",
                               found->second.address.ToString(), " that is connected"));
  } else if (found->second.role != role) {
    return Refuse(absl::StrCat("MS_NODE_ID ", Quoted(node_id), " registered as ", found->second.role, " before"));
  } else if (found->second.is_dead && !options_.enable_recovery) {
    return Refuse(
        absl::StrCat("the process with MS_NODE_ID ", Quoted(node_id),
                     " died and recovery is off; with MS_ENABLE_RECOVERY=1 at the scheduler it could return"));
  }
  Node& node = nodes_.at(node_id);
  node.connection = peer.connection;
  node.address = peer.address;
  node.last_seen = now;
  node.closed_at = MonotonicTime::Never();
  node.is_quiet = false;
  if (std::exchange(node.is_dead, false)) {
    Say(LogLevel::kInfo, absl::StrCat("the MindSpore process ", Quoted(node_id), " is back as rank ", node.rank));
  }
  if (state_ == State::kInitializing) CompleteIfAllAreThere();
  return {true, node.rank, options_.worker_num + options_.server_num, ""};
}

void DirectCluster::CompleteIfAllAreThere() {
  if (Count(kWorker) < options_.worker_num || Count(kServer) < options_.server_num) return;
  AssignRanks(kWorker);
  AssignRanks(kServer);
  state_ = State::kInitialized;
  Say(LogLevel::kInfo, absl::StrCat("the cluster of ", nodes_.size(), " MindSpore processes is complete"));
}

// As MindSpore does: numbers are ranks; else by address, then by node id as text.
void DirectCluster::AssignRanks(const std::string& role) {
  std::vector<std::pair<const std::string*, Node*>> members;
  bool are_numbers = true;
  for (auto& [id, node] : nodes_) {
    if (node.role != role) continue;
    members.emplace_back(&id, &node);
    are_numbers = are_numbers && IsNumber(id);
  }
  if (are_numbers && !options_.sorts_ranks) return;  // they have them
  std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) {
    return std::tie(a.second->address, *a.first) < std::tie(b.second->address, *b.first);
  });
  for (uint32_t rank = 0; rank < members.size(); ++rank) members[rank].second->rank = rank;
}

LeaveResult DirectCluster::Unregister(const std::string& node_id) {
  if (left_.contains(node_id)) return LeaveResult::kDone;
  if (state_ == State::kInitializing) return LeaveResult::kNotInitialized;
  if (nodes_.erase(node_id) == 0) return LeaveResult::kUnknownNode;
  left_.insert(node_id);
  if (nodes_.empty()) {
    Say(LogLevel::kInfo, "all MindSpore processes have ended well");
    state_ = State::kFinished;
  }
  ResetIfAllAreGone();
  return LeaveResult::kDone;
}

std::optional<Health> DirectCluster::Heartbeat(const Peer& peer, const std::string& node_id, MonotonicTime now) {
  const auto found = nodes_.find(node_id);
  if (found == nodes_.end()) return std::nullopt;
  Node& node = found->second;
  // A connection of another process that claims the id tells nothing of this one.
  const bool is_its_own = node.connection == 0 || node.connection == peer.connection;
  if (is_its_own) {
    node.connection = peer.connection;
    node.last_seen = now;
    node.closed_at = MonotonicTime::Never();
    node.is_quiet = false;
    if (options_.enable_recovery) node.is_dead = false;
  }
  Health health{state_, options_.worker_num + options_.server_num, 0};
  if (!options_.enable_recovery) health.abnormal = DeadCount();
  return health;
}

std::optional<std::vector<std::string>> DirectCluster::HostNames(const std::string& role_name) const {
  const std::string role = Canonical(role_name);
  if (state_ != State::kInitialized || Wanted(role) == 0) return std::nullopt;
  std::map<std::string, IpAddress> first;  // of each name
  std::vector<std::string> names(Wanted(role));
  for (const auto& [id, node] : nodes_) {
    const auto known = first.emplace(node.host_name, node.address).first;
    if (node.role != role || node.rank >= names.size()) continue;
    names[node.rank] =
        known->second == node.address ? node.host_name : absl::StrCat(node.host_name, "~", node.address.ToString());
  }
  // Who has ended well already is not asked for any more.
  return names;
}

std::optional<std::string> DirectCluster::Published(const std::string& key) const {
  if (state_ != State::kInitialized) return std::nullopt;
  if (key == "node_port_range") {
    mindspore::PortRanges ranges;
    for (const auto& [id, node] : nodes_) {
      mindspore::PortRange range;
      range.set_min_port(mindspore::kFirstSharedPort);
      range.set_max_port(mindspore::kLastSharedPort);
      (*ranges.mutable_ranges())[node.host_name] = range;
      (*ranges.mutable_ranges())[id] = range;
    }
    return ranges.SerializeAsString();
  }
  for (const char* role : {kWorker, kServer, "MS_SERVER"}) {
    if (!absl::StartsWith(key, role)) continue;
    const auto found = nodes_.find(std::string(absl::StripPrefix(key, role)));
    if (found != nodes_.end()) return std::to_string(found->second.rank);
  }
  return std::nullopt;
}

void DirectCluster::ConnectionClosed(const Peer& peer, MonotonicTime now) {
  for (auto& [id, node] : nodes_) {
    if (node.connection != peer.connection) continue;
    node.connection = 0;
    node.closed_at = now;
    return;
  }
  if (nameless_closed_.size() < kMostAddresses) nameless_closed_[peer.address.bytes()] = now;
  // The other connection of a process that sends no heartbeats: if there is one only, it is known who died.
  std::vector<Node*> quiet;
  for (auto& [id, node] : nodes_) {
    if (node.is_quiet && node.address == peer.address) quiet.push_back(&node);
  }
  if (quiet.size() == 1) {
    quiet.front()->closed_at = now;
    quiet.front()->is_quiet = false;
  }
}

void DirectCluster::Tick(MonotonicTime now) {
  std::vector<std::string> gone;
  for (auto& [id, node] : nodes_) {
    if (node.is_dead || node.is_quiet) continue;
    if (!node.closed_at.is_never() && now - node.closed_at >= kDeathGrace) {
      const auto other = nameless_closed_.find(node.address.bytes());
      const absl::Duration apart = other == nameless_closed_.end() ? absl::InfiniteDuration()
                                                                   : absl::AbsDuration(other->second - node.closed_at);
      if (state_ == State::kInitializing) {
        gone.push_back(id);
      } else if (apart > kClosedTogether) {
        node.is_quiet = true;
      } else {
        NoteDeath(id, node, "its connections broke");
      }
    } else if (node.closed_at.is_never() && now - node.last_seen > options_.node_timeout) {
      NoteDeath(id, node, absl::StrCat("no heartbeat for ", absl::FormatDuration(options_.node_timeout)));
    }
  }
  for (const std::string& id : gone) {
    Say(LogLevel::kInfo, absl::StrCat("the MindSpore process ", Quoted(id), " went before the cluster was complete"));
    nodes_.erase(id);
  }
  if (nodes_.empty() && state_ == State::kInitializing) began_ = MonotonicTime::Never();
  if (state_ == State::kInitializing && !began_.is_never() && now - began_ > options_.topo_timeout) {
    state_ = State::kFailed;
    Say(LogLevel::kError, absl::StrCat("the cluster of MindSpore processes did not form within ",
                                       absl::FormatDuration(options_.topo_timeout),
                                       " (MS_TOPO_TIMEOUT): ", Count(kWorker), " of ", options_.worker_num,
                                       " workers and ", Count(kServer), " of ", options_.server_num, " servers came"));
  }
  ResetIfAllAreGone();
}

void DirectCluster::NoteDeath(const std::string& node_id, Node& node, const std::string& how) {
  node.is_dead = true;
  Say(LogLevel::kError,
      absl::StrCat("the MindSpore process of rank ", node.rank, " (", node.role, ", node id ", Quoted(node_id),
                   ", host ", Quoted(node.host_name), " at ", node.address.ToString(), ") is dead: ", how,
                   options_.enable_recovery ? "; it is waited for" : "; the others are told to end"));
}

// A cluster that is over, well or not, makes room for the next one as soon as nobody of it is connected.
void DirectCluster::ResetIfAllAreGone() {
  const bool is_over = state_ == State::kFinished || state_ == State::kFailed ||
                       (state_ == State::kInitialized && !options_.enable_recovery && DeadCount() > 0);
  const bool is_anyone_here =
      std::any_of(nodes_.begin(), nodes_.end(), [](const auto& entry) { return entry.second.connection != 0; });
  if (!is_over || is_anyone_here) return;
  state_ = State::kInitializing;
  nodes_.clear();
  nameless_closed_.clear();
  began_ = MonotonicTime::Never();
  ++generation_;
}

}  // namespace muster::scheduler
