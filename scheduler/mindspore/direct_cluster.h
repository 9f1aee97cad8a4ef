// A cluster of MindSpore processes that register with the scheduler themselves, without an agent, as they would with
// MindSpore's own. Not part of the core, no journal, one cluster at a time.
//
// Pure: no I/O, no threads, no clock; time comes with each call. The adapter (direct_port.h) calls it.
//
// Its advantages over MindSpore's own scheduler:
//   - It notices a process's death two seconds after its connections broke, not after MS_NODE_TIMEOUT. (A heartbeat
//     connection that alone is closed means MS_DISABLE_HEARTBEAT=1, not death, as long as the metadata connection
//     lives.)
//   - It accepts a node's heartbeats and end only over the connection that registered it or, once that is closed, from
//     the same address. Only a process at the address of a registered one may use metadata; with TLS, one with its
//     certificate.
//   - It refuses, with a reason, node ids that mean one rank ("1" and "01"), numbers beyond the cluster, and numbers
//     mixed with names.
//   - It distinguishes machines with one host name by their addresses.
//   - After an end, good or bad, the next cluster can form. With recovery it waits for a dead process until
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
  bool enable_recovery = false;  // waits for a dead process; the others are not informed meanwhile
  bool sorts_ranks = false;      // MS_HCCL_CM_INIT=1
  absl::Duration topo_timeout = absl::Seconds(1800);
  absl::Duration node_timeout = absl::Seconds(600);
  absl::Duration rejoin_timeout = absl::Seconds(1800);  // for a dead process, with recovery
  bool is_once = false;  // topo_timeout counts from the start, not from the first registration
};

// The end of a cluster, for --once.
enum class DirectEnd { kWell, kFailed, kNeverFormed };

// A note for people. Notes that a client can trigger at will have a kind, so that CountedLog can rate-limit them.
struct DirectNote {
  Severity level = Severity::kInfo;
  std::string text;
  std::string kind;  // empty: each one is logged
};

class DirectCluster {
 public:
  explicit DirectCluster(DirectOptions options) : options_(options) {}

  mindspore::Admission Register(const mindspore::Peer& peer, const mindspore::Registration& registration,
                                MonotonicTime now);
  // On another connection than the node's own, or with a certificate for another node id, the node counts as unknown.
  mindspore::LeaveResult Unregister(const mindspore::Peer& peer, const std::string& node_id);
  std::optional<mindspore::Health> Heartbeat(const mindspore::Peer& peer, const std::string& node_id,
                                             MonotonicTime now);
  std::optional<std::vector<std::string>> HostNames(const std::string& role) const;
  std::optional<std::string> Published(const std::string& key) const;
  // True if this peer may use metadata now; its request may show which node the connection belongs to.
  bool ServesMetadata(const mindspore::Peer& peer, mindspore::MetadataUse use, const std::string& key);
  void ConnectionOpened(const mindspore::Peer& peer) { links_.Opened(peer); }
  void ConnectionClosed(const mindspore::Peer& peer, MonotonicTime now);
  // Returns the connections that the cluster's processes need.
  std::set<uint64_t> Needed() const;
  void Tick(MonotonicTime now);

  // Rises when another cluster begins, for which the last one's stored data is useless.
  uint64_t generation() const { return generation_; }
  // Returns the notes for people since the last call.
  std::vector<DirectNote> TakeNotes() { return std::exchange(notes_, {}); }
  // Returns the end that the last call brought, if any.
  std::optional<DirectEnd> TakeEnd() { return std::exchange(end_, std::nullopt); }

 private:
  struct Node {
    std::string role;
    std::string host_name;
    IpAddress address;
    uint32_t rank = 0;
    uint64_t connection = 0;  // of its heartbeats; 0: closed
    MonotonicTime last_seen = MonotonicTime::Never();
    uint32_t beats = 0;                                  // in the complete cluster: many show that it does beat
    MonotonicTime closed_at = MonotonicTime::Never();    // when its heartbeat connection broke, if it is still closed
    MonotonicTime alone_since = MonotonicTime::Never();  // since when it has no other connection either
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
  // Each returns why a registration is refused; none if it is not.
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
  std::map<std::string, IpAddress> left_;         // node ids that have unregistered, and their addresses
  std::map<std::string, IpAddress> left_before_;  // … those of the cluster before: they may ask again
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
