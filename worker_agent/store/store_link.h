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

  // `on_reply` is called by the link's own thread, once for each call, also for what is cancelled; by the caller's
  // while no such thread can be had.
  explicit StoreLink(OnReply on_reply);
  ~StoreLink();  // cancels what is under way

  // Any thread. Null: there is none. What is under way is cancelled.
  void SetChannel(std::shared_ptr<grpc::Channel> channel);

  // Any thread; never blocks. UNAVAILABLE without a channel.
  void Call(const std::vector<StoreCore::Send>& sends);
  // The same, of a report of replicas; its number is its own, and told from those of calls by the caller.
  void Report(uint64_t call, const v1::ReplicasReport& report, absl::Duration limit);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::agent
