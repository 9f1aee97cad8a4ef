// Sends the store's requests, and reports of replicas, to the scheduler, over a channel that may be lost and replaced.
// Only this and store_stream.h use gRPC in the store.
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

  // `on_reply` is called once for each call, also for one that was cancelled. The link's own thread calls it, or, if
  // that can't be started, the thread that called Call or Report.
  explicit StoreLink(OnReply on_reply);
  ~StoreLink();  // cancels the calls in progress

  // Replaces the channel, and cancels the calls in progress. Null: there is no channel. Any thread may call it.
  void SetChannel(std::shared_ptr<grpc::Channel> channel);

  // Sends the requests. Without a channel each is answered UNAVAILABLE. Never blocks. Any thread may call it.
  void Call(const std::vector<StoreCore::Send>& sends);
  // Sends a report of replicas in the same way. `call` must differ from the numbers of the store's calls.
  void Report(uint64_t call, const v1::ReplicasReport& report, absl::Duration limit);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::agent
