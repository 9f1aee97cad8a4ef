// A start of JAX on all agents at once: what the agents' gateways for JAX ask of the job's store, by their own code,
// while the JAX processes are played here, without connections. So the agents cost no more than on machines of their
// own, and the server is asked by all of them together.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/load/crowd.h"
#include "bench/load/load_settings.h"
#include "common/base/clock.h"

namespace muster::bench {

// Every process registers, is held until all have, tells its topology, and has that of all; process 0 makes that.
// Never destroyed: its agents' threads go on until the process ends.
class JaxStart {
 public:
  // Of a crowd that is in.
  JaxStart(const LoadSettings& settings, Crowd& crowd, const Clock& clock);

  // From the first registration until the last process holds the topology of all.
  absl::StatusOr<absl::Duration> Run();

 private:
  class Agent;
  struct Progress;

  const LoadSettings& settings_;
  const Clock& clock_;
  std::unique_ptr<Progress> progress_;
  std::vector<std::unique_ptr<Agent>> agents_;
};

}  // namespace muster::bench
