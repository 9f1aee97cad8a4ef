// Requests of the store, and reports of replicas, to the scheduler, over a channel that comes and goes. The only part
// of the store that uses gRPC.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "worker_agent/store/store_core.h"

namespace grpc {
class Channel;
}

namespace muster::agent {

class StoreLink {
 public:
  using OnReply = std::function<void(uint64_t call, absl::StatusOr<v1::StoreReply> reply)>;

  // `on_reply` is called by the link's own thread, once for each call, also for cancelled ones; by the caller's while
  // no such thread can be started.
  explicit StoreLink(OnReply on_reply);
  ~StoreLink();  // cancels what is under way

  // May be called by any thread. Null: there is none. Calls under way are cancelled.
  void SetChannel(std::shared_ptr<grpc::Channel> channel);

  // May be called by any thread; never blocks. UNAVAILABLE without a channel.
  void Call(const std::vector<StoreCore::Send>& sends);
  // Sends a report of replicas likewise; the caller keeps its numbers apart from those of calls.
  void Report(uint64_t call, const v1::ReplicasReport& report, absl::Duration limit);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::agent
