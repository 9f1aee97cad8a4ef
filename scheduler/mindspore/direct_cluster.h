// A cluster of MindSpore processes that register with this scheduler directly, without an agent, as they would with
// MindSpore's own scheduler. It is not part of the core, it is not in the journal, and there is one at a time.
//
// Pure: no I/O, no threads, no clock; the caller passes the time. DirectPort (direct_port.h) calls it.
//
// What it does better than MindSpore's own scheduler:
//   - It notices the death of a process two seconds after the connections of the process broke, and need not wait for
//     MS_NODE_TIMEOUT. Each process has a connection for heartbeats and one for metadata. (If only the heartbeat
//     connection is closed, the process is not dead: it runs with MS_DISABLE_HEARTBEAT=1.)
//   - It accepts heartbeats of a node, and its wish to leave, only over the connection that registered the node. Once
//     that is closed, it accepts them from the same address. Only a process at a registered address may use metadata;
//     with TLS it must also have a certificate for a node at this address.
//   - It refuses, with a reason, node ids that mean the same rank ("1" and "01"), numbers that are no rank of the
//     cluster, and a mix of numbers and names.
//   - It distinguishes machines with the same host name by their addresses.
//   - After a cluster has ended, well or not, the next one can form. With recovery it waits for a dead process until
//     rejoin_timeout. When all processes are dead, a process with a new id begins the next cluster.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/mindspore/cluster.h"
#include "scheduler/mindspore/metadata_connections.h"

namespace muster::scheduler {

struct DirectOptions {
  uint32_t worker_num = 0;
  uint32_t server_num = 0;
  bool enable_recovery = false;  // wait for a dead process to return, and don't report its death to the others yet
  bool sorts_ranks = false;      // MS_HCCL_CM_INIT=1
  absl::Duration topo_timeout = absl::Seconds(1800);
  absl::Duration node_timeout = absl::Seconds(600);
  absl::Duration rejoin_timeout = absl::Seconds(1800);  // with recovery: how long to wait for a dead process
  bool is_once = false;  // --once: topo_timeout counts from the scheduler's start, not from the first registration
};

// The way in which a cluster ended. With --once it decides the scheduler's exit code.
enum class DirectEnd { kWell, kFailed, kNeverFormed };

// A line for the log. Lines that a client can trigger at will have a kind, so that CountedLog can rate-limit them.
struct DirectNote {
  Severity level = Severity::kInfo;
  std::string text;
  std::string kind;  // empty: log each such line
};

class DirectCluster {
 public:
  explicit DirectCluster(DirectOptions options) : options_(options) {}

  mindspore::Admission Register(const mindspore::Peer& peer, const mindspore::Registration& registration,
                                MonotonicTime now);
  // Handles a process's wish to leave the cluster. If it comes over a connection that is not the node's own, or with a
  // certificate for another node id, returns kUnknownNode.
  mindspore::LeaveResult Unregister(const mindspore::Peer& peer, const std::string& node_id);
  std::optional<mindspore::Health> Heartbeat(const mindspore::Peer& peer, const std::string& node_id,
                                             MonotonicTime now);
  std::optional<std::vector<std::string>> HostNames(const std::string& role) const;
  std::optional<std::string> Published(const std::string& key) const;
  // True if this peer may use metadata (`key`) now. Also notes to which node the connection belongs, if the certificate
  // or the request shows it.
  bool ServesMetadata(const mindspore::Peer& peer, mindspore::MetadataUse use, const std::string& key);
  void ConnectionOpened(const mindspore::Peer& peer) { links_.Opened(peer); }
  void ConnectionClosed(const mindspore::Peer& peer, MonotonicTime now);
  // Returns the connections that the cluster's processes need. The server must not close these to make room.
  std::set<uint64_t> Needed() const;
  void Tick(MonotonicTime now);

  // The number of the current cluster. It rises when the next cluster begins; the stored data of the last one must then
  // be dropped.
  uint64_t generation() const { return generation_; }
  // Returns the log lines since the last call of TakeNotes.
  std::vector<DirectNote> TakeNotes() { return std::exchange(notes_, {}); }
  // Returns how a cluster ended, if one has ended since the last call of TakeEnd.
  std::optional<DirectEnd> TakeEnd() { return std::exchange(end_, std::nullopt); }

 private:
  struct Node {
    std::string role;
    std::string host_name;
    IpAddress address;
    uint32_t rank = 0;
    uint64_t connection = 0;  // the connection of its heartbeats; 0: it is closed
    MonotonicTime last_seen = MonotonicTime::Never();
    uint32_t beats = 0;  // heartbeats since the cluster was complete; few may mean MS_DISABLE_HEARTBEAT=1
    MonotonicTime closed_at = MonotonicTime::Never();    // when its heartbeat connection broke; Never: it is open
    MonotonicTime alone_since = MonotonicTime::Never();  // since when it has no connection at all; Never: it has one
    MonotonicTime died_at = MonotonicTime::Never();

    bool is_dead() const { return !died_at.is_never(); }
  };
  struct Refusal {
    std::string kind;  // refusals are counted under this name
    std::string text;  // what was found, what is expected, and what to do
  };
  using State = mindspore::TopologyState;

  uint32_t Wanted(const std::string& role) const;
  uint32_t Count(const std::string& role) const;
  // Each returns why a registration must be refused; none: it need not. WhyNotNamed checks the node id, WhyNotNew a
  // node that is not in the cluster, WhyNotBack a node that is in it.
  std::optional<Refusal> WhyNotNamed(const mindspore::Peer& peer, const std::string& node_id) const;
  std::optional<Refusal> WhyNotNew(const std::string& node_id, const std::string& role) const;
  std::optional<Refusal> WhyNotBack(const mindspore::Peer& peer, const std::string& node_id, const Node& node,
                                    const std::string& role) const;
  mindspore::Admission Admit(const mindspore::Peer& peer, const std::string& node_id, Node& node, MonotonicTime now);
  void CompleteIfAllAreThere();
  void AssignRanks(const std::string& role);
  bool IsItsOwn(const Node& node, const mindspore::Peer& peer) const;
  std::string OwnerOf(mindspore::MetadataUse use, const std::string& key) const;
  std::set<std::string> WithMetadataConnection() const;
  std::string WhyDead(const Node& node, bool has_metadata_connection, MonotonicTime now) const;
  void CheckNodes(MonotonicTime now);
  void CheckForming(MonotonicTime now);
  void CheckRejoins(MonotonicTime now);
  void NoteDeath(const std::string& node_id, Node& node, const std::string& how, MonotonicTime now);
  void Fail(MonotonicTime now);
  bool IsDeserted() const;
  void ResetIfAllAreGone();
  void Reset();
  uint32_t DeadCount() const;
  void Say(Severity level, const std::string& text, const std::string& kind = "") {
    notes_.push_back({level, text, kind});
  }

  const DirectOptions options_;
  State state_ = State::kInitializing;
  std::map<std::string, Node> nodes_;             // by node id
  std::map<std::string, IpAddress> left_;         // the addresses of node ids that have unregistered
  std::map<std::string, IpAddress> left_before_;  // `left_` of the last cluster: a process may unregister again
  MetadataConnections links_;
  MonotonicTime began_ = MonotonicTime::Never();      // when topo_timeout began to count
  MonotonicTime opened_at_ = MonotonicTime::Never();  // with is_once: the first Tick, or the last failure to form
  MonotonicTime failed_at_ = MonotonicTime::Never();  // when the cluster failed; without recovery, at the first death
  bool has_formed_ = false;                           // this cluster has formed
  bool ever_formed_ = false;                          // this cluster or an earlier one has formed
  uint64_t generation_ = 1;
  std::vector<DirectNote> notes_;
  std::optional<DirectEnd> end_;
  std::optional<DirectEnd> leaving_;  // becomes end_ once all connections are closed, or after kTimeToLeave
  MonotonicTime leaving_since_ = MonotonicTime::Never();
};

}  // namespace muster::scheduler
