#include "scheduler/mindspore/direct_cluster.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/limits.h"
#include "common/base/text.h"

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

// True if the peer's certificate allows this node id. Without TLS every peer may have any id.
bool MayBe(const Peer& peer, const std::string& node_id) { return !peer.name || peer.name->CoversNode(node_id); }

// Newer versions of MindSpore call a parameter server MS_SERVER.
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
      std::count_if(nodes_.begin(), nodes_.end(), [](const auto& entry) { return entry.second.is_dead(); }));
}

std::optional<DirectCluster::Refusal> DirectCluster::WhyNotNamed(const Peer& peer, const std::string& node_id) const {
  if (node_id.empty() || node_id.size() > kMaxIdBytes) {
    return Refusal{"no node id",
                   absl::StrCat("MS_NODE_ID has ", node_id.size(), " bytes; at the process, set it to a text of 1 to ",
                                kMaxIdBytes, " bytes")};
  }
  if (!MayBe(peer, node_id)) {
    return Refusal{"another's certificate",
                   absl::StrCat("the certificate is ", peer.name->ToUri(), ", but MS_NODE_ID is ", Quoted(node_id),
                                "; correct one of the two at the process")};
  }
  return std::nullopt;
}

std::optional<DirectCluster::Refusal> DirectCluster::WhyNotNew(const std::string& node_id,
                                                               const std::string& role) const {
  const uint32_t wanted = Wanted(role);
  if (wanted == 0) {
    return Refusal{"no such role",
                   absl::StrCat("the role ", Quoted(role), " is not part of this cluster: MS_WORKER_NUM is ",
                                options_.worker_num, " and MS_SERVER_NUM ", options_.server_num,
                                " at the scheduler; correct these, or MS_ROLE at the process")};
  }
  if (Count(role) >= wanted) {
    return Refusal{"too many",
                   absl::StrCat("this node is one too many: ", wanted, " of the role ", role,
                                " are here; correct MS_WORKER_NUM or MS_SERVER_NUM at the scheduler, or start fewer")};
  }
  if (state_ != State::kInitializing) {
    return Refusal{"not forming", "the cluster is no longer forming; start again once its processes have ended"};
  }
  for (const auto& [id, node] : nodes_) {
    if (node.role != role) continue;
    if (IsNumber(id) != IsNumber(node_id)) {
      return Refusal{"numbers and names", absl::StrCat("MS_NODE_ID ", Quoted(node_id), " and ", Quoted(id),
                                                       " mix numbers with names; use one of the two for all")};
    }
  }
  if (!IsNumber(node_id)) return std::nullopt;
  uint32_t number = 0;
  if (!absl::SimpleAtoi(node_id, &number) || number >= wanted) {
    return Refusal{"rank out of range",
                   absl::StrCat("MS_NODE_ID ", Quoted(node_id), " is a rank out of range: there are ", wanted,
                                " of the role ", role, ", so ranks end at ", wanted - 1,
                                "; correct MS_NODE_ID, or MS_WORKER_NUM or MS_SERVER_NUM at the scheduler")};
  }
  for (const auto& [id, node] : nodes_) {
    uint32_t other = 0;
    if (node.role == role && absl::SimpleAtoi(id, &other) && other == number) {
      return Refusal{"the same rank",
                     absl::StrCat("MS_NODE_ID ", Quoted(node_id), " and ", Quoted(id), " both mean rank ", number,
                                  "; give each process a rank of its own")};
    }
  }
  return std::nullopt;
}

std::optional<DirectCluster::Refusal> DirectCluster::WhyNotBack(const Peer& peer, const std::string& node_id,
                                                                const Node& node, const std::string& role) const {
  if (node.connection != 0 && node.connection != peer.connection) {
    return Refusal{"id in use",
                   absl::StrCat("MS_NODE_ID ", Quoted(node_id), " is in use by a process at ", node.address.ToString(),
                                " that is connected; give this process another MS_NODE_ID, or end that process")};
  }
  if (node.role != role) {
    return Refusal{"another role",
                   absl::StrCat("MS_NODE_ID ", Quoted(node_id), " registered as ", node.role,
                                " before; set this MS_ROLE again, or give this process another MS_NODE_ID")};
  }
  if (node.is_dead() && state_ == State::kFailed) {
    return Refusal{"cluster failed", "the cluster has failed; start again once all of its processes have ended"};
  }
  if (node.is_dead() && !options_.enable_recovery) {
    return Refusal{
        "recovery is off",
        absl::StrCat("the process with MS_NODE_ID ", Quoted(node_id),
                     " died and recovery is off; with MS_ENABLE_RECOVERY=1 at the scheduler it could return")};
  }
  return std::nullopt;
}

Admission DirectCluster::Register(const Peer& peer, const mindspore::Registration& registration, MonotonicTime now) {
  const std::string& node_id = registration.node_id();
  const std::string role = Canonical(registration.role());
  links_.NoteControl(peer);
  std::optional<Refusal> refusal = WhyNotNamed(peer, node_id);
  if (!refusal && !nodes_.contains(node_id) && options_.enable_recovery && IsDeserted()) {
    Say(Severity::kInfo,
        "all MindSpore processes are gone, and one with another MS_NODE_ID registered: a new cluster forms",
        "MindSpore: a new cluster");
    Reset();
  }
  const auto found = nodes_.find(node_id);
  const bool is_new = found == nodes_.end();
  if (!refusal) refusal = is_new ? WhyNotNew(node_id, role) : WhyNotBack(peer, node_id, found->second, role);
  if (refusal) {
    Say(Severity::kWarning,
        absl::StrCat("a MindSpore process at ", peer.address.ToString(), " was refused: ", refusal->text),
        absl::StrCat("MindSpore: refused, ", refusal->kind));
    return Refuse(refusal->text);
  }
  if (is_new) {
    Node node{role, registration.host_name().substr(0, kMaxHostNameBytes), peer.address};
    uint32_t number = 0;
    // A provisional rank. AssignRanks sets the final one.
    node.rank = IsNumber(node_id) && absl::SimpleAtoi(node_id, &number) ? number : Count(role);
    nodes_.emplace(node_id, std::move(node));
    left_.erase(node_id);
    left_before_.erase(node_id);
    if (began_.is_never()) began_ = now;
  }
  return Admit(peer, node_id, nodes_.at(node_id), now);
}

Admission DirectCluster::Admit(const Peer& peer, const std::string& node_id, Node& node, MonotonicTime now) {
  node.connection = peer.connection;
  node.address = peer.address;
  node.last_seen = now;
  node.beats = 0;
  node.closed_at = node.alone_since = MonotonicTime::Never();
  if (node.is_dead()) {
    node.died_at = MonotonicTime::Never();
    Say(Severity::kInfo, absl::StrCat("the MindSpore process ", Quoted(node_id), " is back as rank ", node.rank),
        "MindSpore: back");
  }
  if (state_ == State::kInitializing) CompleteIfAllAreThere();
  return {true, node.rank, options_.worker_num + options_.server_num, ""};
}

void DirectCluster::CompleteIfAllAreThere() {
  if (Count(kWorker) < options_.worker_num || Count(kServer) < options_.server_num) return;
  AssignRanks(kWorker);
  AssignRanks(kServer);
  state_ = State::kInitialized;
  has_formed_ = ever_formed_ = true;
  Say(Severity::kInfo, absl::StrCat("the cluster of ", nodes_.size(), " MindSpore processes is complete"),
      "MindSpore: complete");
}

// Assigns ranks as MindSpore does. If all node ids are numbers, they are the ranks. Otherwise (or with
// MS_HCCL_CM_INIT=1) the nodes get ranks in the order of their addresses, and at one address in the order of their ids
// as text.
void DirectCluster::AssignRanks(const std::string& role) {
  std::vector<std::pair<const std::string*, Node*>> members;
  bool are_numbers = true;
  for (auto& [id, node] : nodes_) {
    if (node.role != role) continue;
    members.emplace_back(&id, &node);
    are_numbers = are_numbers && IsNumber(id);
  }
  if (are_numbers && !options_.sorts_ranks) return;  // the node ids are the ranks
  std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) {
    return std::tie(a.second->address, *a.first) < std::tie(b.second->address, *b.first);
  });
  for (uint32_t rank = 0; rank < members.size(); ++rank) members[rank].second->rank = rank;
}

// True if the peer speaks for this node: over the node's own connection or, once that is closed, from its address.
bool DirectCluster::IsItsOwn(const Node& node, const Peer& peer) const {
  return node.connection == peer.connection || (node.connection == 0 && node.address == peer.address);
}

LeaveResult DirectCluster::Unregister(const Peer& peer, const std::string& node_id) {
  links_.NoteControl(peer);
  if (!MayBe(peer, node_id)) return LeaveResult::kUnknownNode;
  if (left_.contains(node_id) || left_before_.contains(node_id)) return LeaveResult::kDone;
  const auto found = nodes_.find(node_id);
  if (found != nodes_.end() && !IsItsOwn(found->second, peer)) return LeaveResult::kUnknownNode;
  if (state_ == State::kInitializing) return LeaveResult::kNotInitialized;
  if (found == nodes_.end()) return LeaveResult::kUnknownNode;
  left_.insert_or_assign(node_id, found->second.address);
  nodes_.erase(found);
  if (nodes_.empty() && state_ == State::kInitialized) {
    Say(Severity::kInfo, "all MindSpore processes have ended well", "MindSpore: ended well");
    state_ = State::kFinished;
  }
  ResetIfAllAreGone();
  return LeaveResult::kDone;
}

std::optional<Health> DirectCluster::Heartbeat(const Peer& peer, const std::string& node_id, MonotonicTime now) {
  const auto found = nodes_.find(node_id);
  if (found == nodes_.end() || !MayBe(peer, node_id)) return std::nullopt;
  Node& node = found->second;
  if (IsItsOwn(node, peer)) {
    links_.NoteControl(peer);
    node.connection = peer.connection;
    node.last_seen = now;
    node.closed_at = node.alone_since = MonotonicTime::Never();
    if (state_ == State::kInitialized) ++node.beats;
    if (options_.enable_recovery && state_ == State::kInitialized) node.died_at = MonotonicTime::Never();
  } else if (node.address != peer.address) {
    return std::nullopt;
  }
  // (Answer another connection from the same machine, too: the process may have opened it before we noticed that the
  // old one broke. But such a heartbeat does not show that this node is alive.)
  Health health{state_, options_.worker_num + options_.server_num, 0};
  // With recovery a dead process may return, so the others are not informed until the cluster has failed.
  if (!options_.enable_recovery || state_ == State::kFailed) health.abnormal = DeadCount();
  return health;
}

std::optional<std::vector<std::string>> DirectCluster::HostNames(const std::string& role_name) const {
  const std::string role = Canonical(role_name);
  if (state_ != State::kInitialized || Wanted(role) == 0) return std::nullopt;
  std::map<std::string, IpAddress> first;  // by host name: the address of the first node with it
  std::vector<std::string> names(Wanted(role));
  for (const auto& [id, node] : nodes_) {
    const auto known = first.emplace(node.host_name, node.address).first;
    if (node.role != role || node.rank >= names.size()) continue;
    // MindSpore takes nodes with the same host name for one machine. So append the address to the name of a node that
    // is on a second machine of that name.
    names[node.rank] =
        known->second == node.address ? node.host_name : absl::StrCat(node.host_name, "~", node.address.ToString());
  }
  // (The name of a process that has ended well is empty. No process needs it any more.)
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

bool DirectCluster::ServesMetadata(const Peer& peer, mindspore::MetadataUse use, const std::string& key) {
  if (!links_.IsMember(peer)) {
    const auto is_its_place = [&peer](const std::string& id, const IpAddress& address) {
      return address == peer.address && MayBe(peer, id);
    };
    const bool is_member =
        std::any_of(nodes_.begin(), nodes_.end(),
                    [&](const auto& entry) { return is_its_place(entry.first, entry.second.address); }) ||
        std::any_of(left_.begin(), left_.end(),
                    [&](const auto& entry) { return is_its_place(entry.first, entry.second); });
    if (!is_member) {
      Say(Severity::kWarning,
          absl::StrCat("ignored a request for metadata from ", peer.address.ToString(),
                       ": no MindSpore process of the cluster has registered from there",
                       peer.name ? absl::StrCat(" with the certificate ", peer.name->ToUri()) : ""),
          "MindSpore: metadata of a stranger");
      return false;
    }
    links_.NoteMember(peer);
    if (peer.name && peer.name->kind == PeerName::Kind::kNode && nodes_.contains(peer.name->id)) {
      links_.Tie(peer, peer.name->id);
    }
  }
  if (const std::string owner = OwnerOf(use, key); !owner.empty() && nodes_.at(owner).address == peer.address) {
    links_.Tie(peer, owner);
  }
  return true;
}

// Returns the node to which a use of this key belongs: a process publishes only the address of its own rank, and asks
// only for the rank of its own id. Empty: any node may use the key in this way.
std::string DirectCluster::OwnerOf(mindspore::MetadataUse use, const std::string& key) const {
  constexpr char kRankAddress[] = "MCCL_COLLECTIVE_RANK_";
  for (const char* role : {kWorker, kServer}) {
    if (use == mindspore::MetadataUse::kAsk && absl::StartsWith(key, role)) {
      const auto found = nodes_.find(std::string(absl::StripPrefix(key, role)));
      if (found != nodes_.end() && found->second.role == role) return found->first;
    }
    const std::string prefix = absl::StrCat(kRankAddress, role, "_");
    uint32_t rank = 0;
    if (use != mindspore::MetadataUse::kWrite || !absl::StartsWith(key, prefix) ||
        !absl::SimpleAtoi(absl::StripPrefix(key, prefix), &rank)) {
      continue;
    }
    for (const auto& [id, node] : nodes_) {
      if (node.role == role && node.rank == rank) return id;
    }
  }
  return "";
}

}  // namespace muster::scheduler
