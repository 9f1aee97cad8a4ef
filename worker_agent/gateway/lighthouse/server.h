// torchft's lighthouse as this agent's processes reach it: gRPC without TLS on a port of loopback for each slot, so
// that it is known whose process a replica is. A call that waits holds no thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "muster/v1/store.pb.h"
#include "worker_agent/gateway/lighthouse/replicas.h"

namespace muster::lighthouse {

// Asks the scheduler; `done` is called once, by any thread, also from inside.
using SendReport =
    std::function<void(v1::ReplicasReport report, std::function<void(absl::StatusOr<v1::StoreReply>)> done)>;

class Server {
 public:
  // For one round. The error says what there was none of: a port, a descriptor, a thread. `last_number`: see Replicas;
  // of the server's thread until its end.
  static absl::StatusOr<std::unique_ptr<Server>> Start(Settings settings, uint32_t slots, SendReport send,
                                                       const Clock& clock, uint64_t& last_number);
  // Calls that wait are told that the round is over.
  ~Server();

  uint16_t PortOf(uint32_t slot) const;

  // Any thread; see Replicas.
  void Ended(uint32_t slot);
  void End(std::string why);

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace muster::lighthouse
