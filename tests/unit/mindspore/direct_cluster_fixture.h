// A direct cluster, with a clock that the test moves.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "scheduler/mindspore/direct_cluster.h"

namespace muster::scheduler {

using mindspore::LeaveResult;
using mindspore::TopologyState;

MATCHER_P2(IsNote, level, text, "") { return arg.level == level && testing::Value(arg.text, testing::HasSubstr(text)); }

class DirectClusterFixture : public testing::Test {
 protected:
  void Make(uint32_t workers, bool has_recovery = false, uint32_t servers = 0, bool is_once = false) {
    DirectOptions options;
    options.is_once = is_once;
    options.rejoin_timeout = absl::Seconds(100);
    options.worker_num = workers;
    options.server_num = servers;
    options.enable_recovery = has_recovery;
    cluster_.emplace(options);
  }

  static mindspore::Peer At(uint64_t connection, const std::string& address = "10.0.0.1") {
    mindspore::Peer peer;
    peer.connection = connection;
    peer.address = *IpAddress::Parse(address);
    return peer;
  }

  mindspore::Admission Register(const mindspore::Peer& peer, const std::string& id,
                                const std::string& role = "MS_WORKER", const std::string& host = "host") {
    mindspore::Registration registration;
    registration.set_node_id(id);
    registration.set_role(role);
    registration.set_host_name(host);
    return cluster_->Register(peer, registration, now_);
  }

  TopologyState StateOf(uint64_t connection, const std::string& id) {
    const auto health = cluster_->Heartbeat(At(connection), id, now_);
    return health ? health->state : TopologyState::kFinished;
  }

  uint32_t AbnormalAt(uint64_t connection, const std::string& id) {
    return cluster_->Heartbeat(At(connection), id, now_)->abnormal;
  }

  void Pass(absl::Duration time) {
    now_ = now_ + time;
    cluster_->Tick(now_);
  }

  // A process comes: its heartbeat connection, its metadata connection, and its registration.
  mindspore::Admission Come(uint64_t heart, uint64_t data, const std::string& id,
                            const std::string& address = "10.0.0.1") {
    cluster_->ConnectionOpened(At(heart, address));
    cluster_->ConnectionOpened(At(data, address));
    return Register(At(heart, address), id);
  }

  void Beat(uint64_t heart, const std::string& id, int times) {
    for (int i = 0; i < times; ++i) cluster_->Heartbeat(At(heart), id, now_);
  }

  // Closes both connections, as when a process dies.
  void Die(uint64_t heart, uint64_t data) {
    cluster_->ConnectionClosed(At(heart), now_);
    cluster_->ConnectionClosed(At(data), now_);
  }

  std::optional<DirectCluster> cluster_;
  MonotonicTime now_ = MonotonicTime::FromNanoseconds(1'000'000'000);
};

}  // namespace muster::scheduler
