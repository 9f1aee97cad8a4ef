// A cluster of MindSpore processes that register with the scheduler themselves, without an agent, as they would with
// MindSpore's own: no part of the core, no journal, one cluster at a time.
//
// Pure: no I/O, no threads, no clock; time comes with each call. The adapter (direct_port.h) calls it.
//
// What is better than in MindSpore's own scheduler:
//   - A process that dies is noticed two seconds after its connections broke, not at MS_NODE_TIMEOUT. (A heartbeat
//     connection that alone is closed is MS_DISABLE_HEARTBEAT=1, no death, as long as the metadata connection lives.)
//   - A node's heartbeats and its end come over the connection that registered it, or, when that one is closed, from
//   the
//     same address. Metadata is for those only who come from where a process of the cluster registered; with TLS, with
//     its certificate.
//   - Node ids that mean one rank ("1" and "01"), numbers beyond the cluster, and numbers mixed with names are refused
//     with a reason.
//   - Machines of one host name are told apart by their addresses.
//   - After an end, good or bad, the next cluster can form. With recovery a dead process is waited for until
//     rejoin_timeout; when all are gone, a process with a new id begins the next cluster.
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
  bool enable_recovery = false;  // a dead process is waited for; nobody is told of it meanwhile
  bool sorts_ranks = false;      // MS_HCCL_CM_INIT=1
  absl::Duration topo_timeout = absl::Seconds(1800);
  absl::Duration node_timeout = absl::Seconds(600);
  absl::Duration rejoin_timeout = absl::Seconds(1800);  // for a dead process, with recovery
  bool is_once = false;  // topo_timeout counts from the start, not from the first registration
};

// How a cluster ended, for --once.
enum class DirectEnd { kWell, kFailed, kNeverFormed };

// What people should know. Who can cause it as often as he likes has a kind: its lines are counted (see CountedLog).
struct DirectNote {
  Severity level = Severity::kInfo;
  std::string text;
  std::string kind;  // empty: each one is told
};

class DirectCluster {
 public:
  explicit DirectCluster(DirectOptions options) : options_(options) {}

  mindspore::Admission Register(const mindspore::Peer& peer, const mindspore::Registration& registration,
                                MonotonicTime now);
  // On another connection than its own, or with a certificate for another node id: as if the node were not known.
  mindspore::LeaveResult Unregister(const mindspore::Peer& peer, const std::string& node_id);
  std::optional<mindspore::Health> Heartbeat(const mindspore::Peer& peer, const std::string& node_id,
                                             MonotonicTime now);
  std::optional<std::vector<std::string>> HostNames(const std::string& role) const;
  std::optional<std::string> Published(const std::string& key) const;
  // Whether this peer may use metadata now; what it asks for may tell whose connection it is.
  bool ServesMetadata(const mindspore::Peer& peer, mindspore::MetadataUse use, const std::string& key);
  void ConnectionOpened(const mindspore::Peer& peer) { links_.Opened(peer); }
  void ConnectionClosed(const mindspore::Peer& peer, MonotonicTime now);
  // The connections that its processes need.
  std::set<uint64_t> Needed() const;
  void Tick(MonotonicTime now);

  // Rises when another cluster begins: what the last one stored is of no use to it.
  uint64_t generation() const { return generation_; }
  // What people should know of what happened since the last call.
  std::vector<DirectNote> TakeNotes() { return std::exchange(notes_, {}); }
  // The end that the last call brought, if any.
  std::optional<DirectEnd> TakeEnd() { return std::exchange(end_, std::nullopt); }

 private:
  struct Node {
    std::string role;
    std::string host_name;
    IpAddress address;
    uint32_t rank = 0;
    uint64_t connection = 0;  // of its heartbeats; 0: closed
    MonotonicTime last_seen = MonotonicTime::Never();
    uint32_t beats = 0;                                  // in the complete cluster: with many, it is no quiet one
    MonotonicTime closed_at = MonotonicTime::Never();    // its heartbeat connection broke then, and did not come back
    MonotonicTime alone_since = MonotonicTime::Never();  // nor has it another connection since then
    MonotonicTime died_at = MonotonicTime::Never();

    bool is_dead() const { return !died_at.is_never(); }
  };
  struct Refusal {
    std::string kind;  // by which it is counted
    std::string text;  // what was found, what is expected, what to do
  };
  using State = mindspore::TopologyState;

  uint32_t Wanted(const std::string& role) const;
  uint32_t Count(const std::string& role) const;
  // Why a registration is not taken: nothing if it is.
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
  std::map<std::string, IpAddress> left_;         // node ids that have unregistered, and from where
  std::map<std::string, IpAddress> left_before_;  // … from the cluster before: they may ask again
  MetadataConnections links_;
  MonotonicTime began_ = MonotonicTime::Never();      // the first registration
  MonotonicTime opened_at_ = MonotonicTime::Never();  // with is_once, until a cluster has formed
  MonotonicTime failed_at_ = MonotonicTime::Never();  // without recovery, at the first death
  bool has_formed_ = false;
  bool ever_formed_ = false;  // this cluster or one before it
  uint64_t generation_ = 1;
  std::vector<DirectNote> notes_;
  std::optional<DirectEnd> end_;
  std::optional<DirectEnd> leaving_;  // becomes end_ when the connections are closed
  MonotonicTime leaving_since_ = MonotonicTime::Never();
};

}  // namespace muster::scheduler
