// JAX's coordination service as its processes reach it: gRPC without TLS on a port of loopback, for this machine's
// processes of this user only. Each request is a step of one thread; none waits in a thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/store/job_store.h"
#include "worker_agent/gateway/chassis/barriers/barriers.h"

namespace muster::jax {

class Server {
 public:
  // For one round; see Coordination. The error says what there was none of: a port, a descriptor, a thread.
  static absl::StatusOr<std::unique_ptr<Server>> Start(JobStore& store, const Clock& clock, agent::TaskLayout layout,
                                                       uint64_t incarnation);
  // What waits is told that the round is over.
  ~Server();

  uint16_t port() const;

  // Any thread; see Coordination.
  void Ended(int32_t task);
  void Stop(std::string why, absl::Duration limit);
  void End(std::string why);

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace muster::jax
