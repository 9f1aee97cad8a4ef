// The part of DirectCluster that decides which nodes are alive, and when the cluster has ended.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "scheduler/mindspore/direct_cluster.h"

namespace muster::scheduler {
namespace {

constexpr absl::Duration kDeathGrace = absl::Seconds(2);  // a process may reconnect within this time
// When a process dies, its connections close at about the same time: at most this long after one another.
constexpr absl::Duration kClosedTogether = absl::Seconds(1);
// A process with fewer heartbeats than this may have MS_DISABLE_HEARTBEAT=1: such a process stops sending them once it
// knows that the cluster is complete.
constexpr uint32_t kBeatsOfALoudOne = 5;
// The time that the processes have to close their connections after their last message. Some of them (seen with
// MindSpore 2.10.0) crash if our side closes first.
constexpr absl::Duration kTimeToLeave = absl::Seconds(10);
// The time that the processes of a failed cluster have to learn of the failure, before a scheduler with --once ends.
constexpr absl::Duration kTimeToHear = absl::Seconds(30);

}  // namespace

// Returns the living nodes that have an open metadata connection. It is not known to which node every such connection
// belongs. So the unknown connections of an address are counted: the nodes at this address that send heartbeats get one
// each first, and then the nodes with a closed heartbeat connection, in the order in which it closed.
std::set<std::string> DirectCluster::WithMetadataConnection() const {
  MetadataConnections::Count count = links_.Counted();
  std::set<std::string> found;
  std::vector<const std::pair<const std::string, Node>*> quiet;
  for (const auto& entry : nodes_) {
    const Node& node = entry.second;
    if (node.is_dead()) continue;
    if (count.tied.contains(entry.first)) {
      found.insert(entry.first);
    } else if (node.connection == 0) {
      quiet.push_back(&entry);
    } else if (size_t& free = count.free[node.address.bytes()]; free > 0) {
      --free;
    }
  }
  std::stable_sort(quiet.begin(), quiet.end(),
                   [](const auto* a, const auto* b) { return a->second.closed_at < b->second.closed_at; });
  for (const auto* entry : quiet) {
    size_t& free = count.free[entry->second.address.bytes()];
    if (free == 0) continue;
    --free;
    found.insert(entry->first);
  }
  return found;
}

// Returns why the node counts as dead; empty: it counts as alive.
std::string DirectCluster::WhyDead(const Node& node, bool has_metadata_connection, MonotonicTime now) const {
  const bool is_silent = now - node.last_seen > options_.node_timeout;
  const std::string silence = absl::StrCat("no heartbeat for ", absl::FormatDuration(options_.node_timeout));
  if (node.connection != 0) return is_silent ? silence : "";
  if (!has_metadata_connection) return now - node.alone_since >= kDeathGrace ? "its connections broke" : "";
  if (node.beats < kBeatsOfALoudOne) return "";
  const std::optional<MonotonicTime> other = links_.LastClosed(node.address);
  const bool closed_together = other && absl::AbsDuration(*other - node.closed_at) <= kClosedTogether;
  if (closed_together && now - node.closed_at >= kDeathGrace) return "its connections broke";
  return is_silent ? silence : "";
}

void DirectCluster::CheckNodes(MonotonicTime now) {
  std::set<std::string> connected;
  if (std::any_of(nodes_.begin(), nodes_.end(), [](const auto& entry) { return entry.second.connection == 0; })) {
    connected = WithMetadataConnection();
  }
  std::vector<std::string> gone;
  for (auto& [id, node] : nodes_) {
    if (node.is_dead()) continue;
    const bool has_metadata_connection = connected.contains(id);
    if (node.connection != 0 || has_metadata_connection) {
      node.alone_since = MonotonicTime::Never();
    } else if (node.alone_since.is_never()) {
      node.alone_since = std::max(node.closed_at, links_.LastClosed(node.address).value_or(node.closed_at));
    }
    if (state_ == State::kInitializing && node.connection == 0) {
      if (now - node.closed_at >= kDeathGrace) gone.push_back(id);
    } else if (const std::string why = WhyDead(node, has_metadata_connection, now); !why.empty()) {
      NoteDeath(id, node, why, now);
    }
  }
  for (const std::string& id : gone) {
    Say(Severity::kInfo, absl::StrCat("the MindSpore process ", Quoted(id), " left before the cluster was complete"),
        "MindSpore: went early");
    nodes_.erase(id);
  }
}

void DirectCluster::CheckForming(MonotonicTime now) {
  if (state_ != State::kInitializing) return;
  if (nodes_.empty()) began_ = MonotonicTime::Never();
  if (options_.is_once && !ever_formed_) {
    if (opened_at_.is_never()) opened_at_ = now;
    began_ = opened_at_;
  }
  if (began_.is_never() || now - began_ <= options_.topo_timeout) return;
  Say(Severity::kError, absl::StrCat("the cluster of MindSpore processes did not form within ",
                                     absl::FormatDuration(options_.topo_timeout), " (MS_TOPO_TIMEOUT): ",
                                     Count("MS_WORKER"), " of ", options_.worker_num, " workers and ",
                                     Count("MS_PSERVER"), " of ", options_.server_num, " servers registered"));
  opened_at_ = now;
  end_ = DirectEnd::kNeverFormed;
  Fail(now);
}

void DirectCluster::CheckRejoins(MonotonicTime now) {
  if (!options_.enable_recovery || state_ != State::kInitialized) return;
  for (const auto& [id, node] : nodes_) {
    if (!node.is_dead() || now - node.died_at <= options_.rejoin_timeout) continue;
    Say(Severity::kError,
        absl::StrCat("the MindSpore process of rank ", node.rank, " (", node.role, ", node id ", Quoted(id),
                     ") did not return within ", absl::FormatDuration(options_.rejoin_timeout),
                     " (--rejoin_timeout): the cluster has failed; the other processes must end"));
    return Fail(now);
  }
}

void DirectCluster::Tick(MonotonicTime now) {
  CheckNodes(now);
  CheckForming(now);
  CheckRejoins(now);
  if (!failed_at_.is_never() && has_formed_ && now - failed_at_ > kTimeToHear) end_ = DirectEnd::kFailed;
  ResetIfAllAreGone();
  if (leaving_) {
    if (leaving_since_.is_never()) leaving_since_ = now;
    if (links_.empty() || now - leaving_since_ > kTimeToLeave) {
      end_ = std::exchange(leaving_, std::nullopt);
      leaving_since_ = MonotonicTime::Never();
    }
  }
}

void DirectCluster::ConnectionClosed(const mindspore::Peer& peer, MonotonicTime now) {
  links_.Closed(peer, now);
  for (auto& [id, node] : nodes_) {
    if (node.connection != peer.connection) continue;  // (one process may have registered several ids)
    node.connection = 0;
    node.closed_at = now;
  }
}

std::set<uint64_t> DirectCluster::Needed() const {
  MetadataConnections::Count count = links_.Counted();
  std::set<uint64_t> needed;
  std::map<std::string, size_t> wanted;
  for (const auto& [id, node] : nodes_) {
    if (node.connection != 0) needed.insert(node.connection);
    const auto tied = count.tied.find(id);
    if (tied != count.tied.end()) {
      needed.insert(tied->second);
    } else if (!node.is_dead()) {
      ++wanted[node.address.bytes()];
    }
  }
  // A process needs one metadata connection. If an address has no more unknown ones than its processes need, then all
  // of them are needed.
  std::set<std::string> scarce;
  for (const auto& [address, number] : wanted) {
    if (count.free[address] <= number) scarce.insert(address);
  }
  needed.merge(links_.FreeAt(scarce));
  return needed;
}

void DirectCluster::NoteDeath(const std::string& node_id, Node& node, const std::string& how, MonotonicTime now) {
  node.died_at = now;
  const std::string who =
      absl::StrCat("the MindSpore process of rank ", node.rank, " (", node.role, ", node id ", Quoted(node_id),
                   ", host ", Quoted(node.host_name), " at ", node.address.ToString(), ")");
  if (!failed_at_.is_never()) {  // the cluster has failed already, and its processes were asked to end
    Say(Severity::kInfo, absl::StrCat(who, " has ended after the failure: ", how));
    return;
  }
  Say(Severity::kError,
      absl::StrCat(who, " is dead: ", how,
                   options_.enable_recovery ? "; the cluster waits for it" : "; the other processes must end"));
  if (!options_.enable_recovery) failed_at_ = now;
}

void DirectCluster::Fail(MonotonicTime now) {
  state_ = State::kFailed;
  if (failed_at_.is_never()) failed_at_ = now;
}

// True if the cluster had processes, and all are dead.
bool DirectCluster::IsDeserted() const {
  return !nodes_.empty() && std::all_of(nodes_.begin(), nodes_.end(), [](const auto& entry) {
    return entry.second.connection == 0 && entry.second.is_dead();
  });
}

// Begins the next cluster if this one has ended, well or not, and none of its processes is connected any more.
void DirectCluster::ResetIfAllAreGone() {
  const bool is_over = state_ == State::kFinished || state_ == State::kFailed ||
                       (state_ == State::kInitialized && !options_.enable_recovery && DeadCount() > 0);
  if (!is_over || (!nodes_.empty() && !IsDeserted())) return;
  if (has_formed_) leaving_ = state_ == State::kFinished ? DirectEnd::kWell : DirectEnd::kFailed;
  Reset();
}

void DirectCluster::Reset() {
  state_ = State::kInitializing;
  nodes_.clear();
  left_before_ = std::exchange(left_, {});
  links_.Forget();
  began_ = failed_at_ = MonotonicTime::Never();
  has_formed_ = false;
  ++generation_;
}

}  // namespace muster::scheduler
