// Stands in for MindSpore's scheduler, for this agent's MindSpore processes. It has one port for each slot, on the
// node's own address, open to this machine only. (A worker's CPU collectives listen on the address from which it
// reaches its scheduler.) The gateway answers the processes' heartbeats itself, and puts their metadata into the job's
// store. So they notice nothing if ms-scheduler is away.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/mindspore/cluster.h"
#include "common/store/job_store.h"
#include "common/tls/tls_store.h"
#include "muster/v1/rendezvous.pb.h"
#include "worker_agent/gateway/chassis/gateway.h"

namespace muster::agent {

struct MindSporeGatewayOptions {
  std::vector<uint16_t> ports;           // reserved, one for each slot
  std::shared_ptr<const TlsStore> tls;   // for scripts that call set_ps_context(enable_ssl=True); null: none
  std::function<bool()> store_has_room;  // empty: always
};

// `store` and `clock` must outlive the gateway. It doesn't listen before the first round.
std::unique_ptr<Gateway> MakeMindSporeGateway(MindSporeGatewayOptions options, JobStore& store, const Clock& clock);

// Returns the host names that MindSpore gets, in rank order.
//
// MindSpore finds a process's local rank by counting the ranks with its own host name. So equal names must mean one
// machine. In Muster, however, different machines may have the same host name (see docs/frameworks.md). So all ranks of
// one machine get one name, and a second machine with this name gets another name, "name~<its NODE_RANK>".
//
// There is one name for each rank of `role`. The ranks of machine `own_machine` always get `own_name`.
std::vector<std::string> NamesOfRanks(const v1::PeerList& peers, v1::Role role, uint32_t own_machine,
                                      const std::string& own_name);

// The agent's slots as MindSpore processes see them: a complete cluster, in which they find the rank that they already
// have. Thread-safe; no I/O.
//
// Each slot has its own listening port, which identifies a connection's slot. The round is closed before any process
// starts, so every heartbeat is answered "initialised". No process is ever called abnormal, because the agent itself
// ends the processes of a round that was given up.
class MindSporeSlots final : public mindspore::Cluster {
 public:
  // `store` must outlive this. `has_room` returns true if the store can take a write now; an empty function means
  // always.
  MindSporeSlots(JobStore& store, std::function<bool()> has_room) : store_(store), has_room_(std::move(has_room)) {}

  void BeginRound(GatewayRound round);

  mindspore::Admission Register(const mindspore::Peer& peer, const mindspore::Registration& registration) override;
  mindspore::LeaveResult Unregister(const mindspore::Peer& peer, const std::string& node_id) override;
  std::optional<mindspore::Health> Heartbeat(const mindspore::Peer& peer, const std::string& node_id) override;
  std::optional<std::vector<std::string>> HostNames(const mindspore::Peer& peer, const std::string& role) override;
  std::optional<std::string> Published(const mindspore::Peer& peer, const std::string& key) override;
  JobStore& Store(const mindspore::Peer&) override { return store_; }
  bool HasRoomForWrites() override { return !has_room_ || has_room_(); }
  void ConnectionClosed(const mindspore::Peer& peer) override;
  std::set<uint64_t> Needed() override;

 private:
  struct Process {
    std::string node_id;
    uint64_t connection = 0;  // on which it registered; 0: closed
  };

  // If `node_id` is no number, returns the slot's rank. If it is a rank of this agent, returns this rank. (It may
  // belong to another slot, because a command may start the processes of all slots by itself.) Otherwise returns
  // std::nullopt.
  std::optional<uint32_t> RankFor(uint32_t slot, const std::string& node_id) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<uint32_t> RankOfNode(const std::string& node_id) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  uint32_t NodeCount() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string PortRanges() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  JobStore& store_;
  const std::function<bool()> has_room_;
  Mutex mutex_;
  GatewayRound round_ ABSL_GUARDED_BY(mutex_);
  std::map<uint32_t, Process> processes_ ABSL_GUARDED_BY(mutex_);  // by rank
  // Node ids that have unregistered, at most kMaxLeft. When the set is full, an arbitrary id makes room.
  std::set<std::string> left_ ABSL_GUARDED_BY(mutex_);
};

// Returns MindSpore's name of a role as a Role; std::nullopt if no process of a training job has such a role.
std::optional<v1::Role> RoleOfMindSpore(const std::string& role);

}  // namespace muster::agent
