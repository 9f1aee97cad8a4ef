// A start of JAX on all agents at once. The agents' gateways for JAX use the job's store with their own code; the JAX
// processes are simulated here, without connections. So the agents cost no more than on machines of their own, and all
// of them load the server together.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/load/crowd.h"
#include "bench/load/load_settings.h"
#include "common/base/clock.h"

namespace muster::bench {

// Every process registers and is held until all have registered. Then it sends its topology and reads that of all,
// which process 0 makes. Never destroyed: its agents' threads go on until the process ends.
class JaxStart {
 public:
  // All agents of `crowd` must be in.
  JaxStart(const LoadSettings& settings, Crowd& crowd, const Clock& clock);

  // Measures from the first registration until the last process holds the topology of all.
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
