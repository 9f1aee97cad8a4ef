// The TCP port of --mindspore_port, where MindSpore processes register without an agent.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/mindspore/server.h"
#include "common/store/memory_job_store.h"
#include "common/sys/log.h"
#include "scheduler/ingress/bind_plan.h"
#include "scheduler/mindspore/direct_cluster.h"

namespace muster::scheduler {

class DirectPort final : public mindspore::Cluster {
 public:
  struct Options {
    DirectOptions cluster;
    BindPlan plan;
    uint16_t port = 0;
    std::shared_ptr<const TlsStore> tls;  // null: without TLS
    PlainFrom plain_from = PlainFrom::kAll;
    std::shared_ptr<CountedLog> counted;  // for log lines that clients can trigger at will
    std::function<void(DirectEnd end)>
        on_end;  // called when a cluster has ended, perhaps twice, on any thread; or empty
  };

  // Opens the port; it listens when Open returns. `clock` must outlive this.
  static absl::StatusOr<std::unique_ptr<DirectPort>> Open(const Options& options, const Clock& clock);

  mindspore::Admission Register(const mindspore::Peer& peer, const mindspore::Registration& registration) override;
  mindspore::LeaveResult Unregister(const mindspore::Peer& peer, const std::string& node_id) override;
  std::optional<mindspore::Health> Heartbeat(const mindspore::Peer& peer, const std::string& node_id) override;
  std::optional<std::vector<std::string>> HostNames(const mindspore::Peer& peer, const std::string& role) override;
  std::optional<std::string> Published(const mindspore::Peer& peer, const std::string& key) override;
  JobStore& Store(const mindspore::Peer& peer) override;
  bool ServesMetadata(const mindspore::Peer& peer, mindspore::MetadataUse use, const std::string& key) override;
  void ConnectionOpened(const mindspore::Peer& peer) override { cluster_.ConnectionOpened(peer); }
  void ConnectionClosed(const mindspore::Peer& peer) override;
  std::set<uint64_t> Needed() override { return cluster_.Needed(); }
  void Tick() override;
  bool HasTimers() const override { return true; }

 private:
  DirectPort(const Options& options, const Clock& clock);
  void SayNotes();

  const Clock& clock_;
  const std::shared_ptr<CountedLog> counted_;
  const std::function<void(DirectEnd)> on_end_;
  DirectCluster cluster_;  // used only by the server's thread
  MemoryJobStore store_;
  uint64_t stored_generation_ = 1;
  std::unique_ptr<mindspore::Server> server_;  // declared last, because it uses the members above
};

}  // namespace muster::scheduler
