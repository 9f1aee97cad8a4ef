// A cluster of MindSpore processes that register with the scheduler themselves, without an agent, as they would with
// MindSpore's own: no part of the core, no journal, one cluster at a time.
//
// Pure: no I/O, no threads, no clock; time comes with each call. The adapter (direct_port.h) calls it.
//
// What is better than in MindSpore's own scheduler:
//   - A process that dies is noticed two seconds after its connections broke, not at MS_NODE_TIMEOUT. (A heartbeat
//     connection that alone is closed is MS_DISABLE_HEARTBEAT=1, no death.)
//   - Node ids that mean one rank ("1" and "01"), numbers beyond the cluster, and numbers mixed with names are refused
//     with a reason.
//   - Machines of one host name are told apart by their addresses.
//   - After an end, good or bad, the next cluster can form.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mindspore/cluster.h"

namespace muster::scheduler {

struct DirectOptions {
  uint32_t worker_num = 0;
  uint32_t server_num = 0;
  bool enable_recovery = false;  // a dead process is waited for; nobody is told of it meanwhile
  bool sorts_ranks = false;      // MS_HCCL_CM_INIT=1
  absl::Duration topo_timeout = absl::Seconds(1800);
  absl::Duration node_timeout = absl::Seconds(600);
};

class DirectCluster {
 public:
  explicit DirectCluster(DirectOptions options) : options_(options) {}

  mindspore::Admission Register(const mindspore::Peer& peer, const mindspore::Registration& registration,
                                MonotonicTime now);
  // A certificate for another node id: as if the node were not known.
  mindspore::LeaveResult Unregister(const mindspore::Peer& peer, const std::string& node_id);
  std::optional<mindspore::Health> Heartbeat(const mindspore::Peer& peer, const std::string& node_id,
                                             MonotonicTime now);
  std::optional<std::vector<std::string>> HostNames(const std::string& role) const;
  std::optional<std::string> Published(const std::string& key) const;
  void ConnectionClosed(const mindspore::Peer& peer, MonotonicTime now);
  void Tick(MonotonicTime now);

  // Rises when another cluster begins: what the last one stored is of no use to it.
  uint64_t generation() const { return generation_; }
  // What people should know of what happened since the last call.
  std::vector<std::pair<LogLevel, std::string>> TakeNotes() { return std::exchange(notes_, {}); }

 private:
  struct Node {
    std::string role;
    std::string host_name;
    IpAddress address;
    uint32_t rank = 0;
    uint64_t connection = 0;  // of its heartbeats; 0: closed
    MonotonicTime last_seen;
    MonotonicTime closed_at = MonotonicTime::Never();  // its connection broke then, and it did not come back …
    bool is_dead = false;                              // … for good
    bool is_quiet = false;  // it has closed its heartbeat connection alone: MS_DISABLE_HEARTBEAT
  };
  using State = mindspore::TopologyState;

  uint32_t Wanted(const std::string& role) const;
  uint32_t Count(const std::string& role) const;
  std::string WhyNot(const std::string& node_id, const std::string& role) const;
  void CompleteIfAllAreThere();
  void AssignRanks(const std::string& role);
  void NoteDeath(const std::string& node_id, Node& node, const std::string& how);
  void ResetIfAllAreGone();
  uint32_t DeadCount() const;
  void Say(LogLevel level, const std::string& text) { notes_.emplace_back(level, text); }

  const DirectOptions options_;
  State state_ = State::kInitializing;
  std::map<std::string, Node> nodes_;                     // by node id
  std::set<std::string> left_;                            // node ids that have unregistered
  std::map<std::string, MonotonicTime> nameless_closed_;  // address: when a connection that is no node's closed last
  MonotonicTime began_ = MonotonicTime::Never();          // the first registration
  uint64_t generation_ = 1;
  std::vector<std::pair<LogLevel, std::string>> notes_;
};

}  // namespace muster::scheduler
