// All agents, spread over completion queues. Each queue has a thread of its own, and only that thread touches the queue
// and its agents; other threads ask it to.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "bench/load/agent.h"
#include "bench/load/load_settings.h"
#include "common/base/clock.h"

namespace muster::bench {

class Crowd {
 public:
  Crowd(const LoadSettings& settings, std::string target, std::shared_ptr<grpc::ChannelCredentials> credentials,
        const Clock& clock);
  ~Crowd();

  // All agents join at once.
  void Begin();
  // Waits until `count` agents are in, or are no longer in. False after `limit`.
  bool AwaitIn(uint32_t count, absl::Duration limit) const;
  bool AwaitOut(absl::Duration limit) const;
  uint32_t CountIn() const;

  // Measures the heartbeats from now on, for `length`.
  void OpenWindow(absl::Duration length);

  // Looks at every agent and tally, each in its own thread, one after the other.
  void Inspect(const std::function<void(const Agent&)>& look, const std::function<void(const Tally&)>& look_tally = {});

 private:
  struct Shard;
  bool Await(const std::function<bool()>& is_true, absl::Duration limit) const;

  const Clock& clock_;
  const Context context_;
  std::vector<std::unique_ptr<Shard>> shards_;
};

}  // namespace muster::bench
