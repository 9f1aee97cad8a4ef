// One simulated world: the scheduler, the agents and their machines, the network between them, the users and the
// faults. A seed decides everything.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/actors/agent_host.h"
#include "tests/sim/actors/processes.h"
#include "tests/sim/actors/scheduler_host.h"
#include "tests/sim/checks/world_invariants.h"
#include "tests/sim/network.h"
#include "tests/sim/parameters.h"
#include "tests/sim/random.h"
#include "tests/sim/sim.h"

namespace muster::sim {

class World {
 public:
  World(const Parameters& parameters, bool is_verbose);

  // Runs to the end, or to the first broken invariant.
  void Run();

  const std::string& violation() const { return sim_.violation(); }
  uint64_t steps() const { return sim_.steps; }
  uint64_t digest() const { return sim_.digest(); }

 private:
  // The place where an agent is started again and again: one line of a user's script.
  struct Place {
    const JobSpec* job = nullptr;
    const NodeSpec* spec = nullptr;
    std::string kept_id;           // assigned by the scheduler, kept on the machine
    AgentHost* current = nullptr;  // the latest start on it
    LockFile lock = {};
    std::vector<LockFile> backups = {};  // of the lock's file
  };

  // users.cc
  void PlanUsers();
  void StartAgent(Place& place);
  bool IsLocked(const Place& place) const;
  std::optional<LockFile> TakeLock(Place& place, uint64_t incarnation);
  bool EndOrphans(const Place& place);
  void OnAgentEnd(Place& place);
  void StartJobAgainIfOver(const JobSpec& job);
  void AskSomething();
  void AskToStop();
  void SteerSomething();

  // faults.cc
  void PlanFaults();
  using KeeperFault = std::function<void(AgentHost&, Random)>;
  void PlanKeeperFaults(Random random);
  void StrikeKeeper(const KeeperFault& strike, Random fate);
  void PlanCleaning(AgentHost& agent, Random fate);
  bool IsNodeAlive(const AgentHost& agent) const;
  void PlanRenewals(Random random);
  void BreakPartition();
  void CrashMachine();
  void RestartScheduler();
  AgentHost* PickAgent();

  bool AreFaultsOver() const { return sim_.timeline.elapsed() >= sim_.parameters.faults_end; }
  void EndFaults();
  void CheckEnd();
  void CheckCalm();

  Sim sim_;
  Random random_;
  Random user_random_;
  Random fault_random_;
  Processes processes_;
  WorldInvariants invariants_;
  Network network_;
  SchedulerHost scheduler_;
  std::vector<std::unique_ptr<Place>> places_;
  std::vector<std::unique_ptr<AgentHost>> agents_;  // all that ever started
};

}  // namespace muster::sim
