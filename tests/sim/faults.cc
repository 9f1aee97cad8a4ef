// The faults of the simulation, until faults_end.
#include <algorithm>
#include <csignal>

#include "tests/sim/world.h"

namespace muster::sim {

void World::PlanFaults() {
  const FaultPlan& f = sim_.parameters.faults;
  const auto plan = [&](int times, const std::function<void()>& strike) {
    for (int i = 0; i < times; ++i) {
      // Faults often strike while the first run forms, because most cases are there.
      const absl::Duration until = fault_random_.Chance(0.3) ? absl::Seconds(40) : sim_.parameters.faults_end;
      sim_.timeline.After(fault_random_.UpTo(until), [this, strike] {
        if (!AreFaultsOver()) strike();
      });
    }
  };
  plan(f.stream_breaks, [this] { network_.BreakOne(fault_random_); });
  plan(f.partitions, [this] { BreakPartition(); });
  plan(f.machine_crashes, [this] { CrashMachine(); });
  plan(f.scheduler_restarts, [this] { RestartScheduler(); });
  plan(f.scheduler_pauses,
       [this] { scheduler_.Pause(fault_random_.UpTo(absl::Seconds(fault_random_.Chance(0.5) ? 2 : 60))); });
  plan(f.agent_kills, [this] {
    if (AgentHost* agent = PickAgent()) agent->Kill();
  });
  plan(f.keeper_kills, [this] {
    if (AgentHost* agent = PickAgent()) agent->KillKeeper();
  });
  plan(f.agent_hangs, [this] {
    const absl::Duration longest = fault_random_.Chance(0.5) ? absl::Seconds(5) : 3 * sim_.parameters.scheduler.lease;
    if (AgentHost* agent = PickAgent()) agent->Hang(fault_random_.UpTo(longest));
  });
  plan(f.end_signals, [this] {
    AgentHost* agent = PickAgent();
    if (agent == nullptr) return;
    agent->Signal(SIGTERM);
    if (!fault_random_.Chance(0.3)) return;
    sim_.timeline.After(fault_random_.UpTo(absl::Seconds(5)), [agent] { agent->Signal(SIGINT); });
  });
  plan(f.process_hangs, [this] {
    if (AgentHost* agent = PickAgent()) agent->HangProcess(fault_random_);
  });
  PlanKeeperFaults(Random(sim_.parameters.seed * 0x8ebc6af09c88c6e3 + 1));
  PlanRenewals(Random(sim_.parameters.seed * 0xa0761d6478bd642f + 1));
  sim_.timeline.After(sim_.parameters.faults_end, [this] { EndFaults(); });
}

// Has a random source of its own, so that all other faults of a seed stay the same. Strikes agents with processes.
void World::PlanKeeperFaults(Random random) {
  const FaultPlan& f = sim_.parameters.faults;
  const auto plan = [&](int times, const KeeperFault& strike) {
    for (int i = 0; i < times; ++i) {
      const absl::Duration at = random.UpTo(random.Chance(0.3) ? absl::Seconds(40) : sim_.parameters.faults_end);
      sim_.timeline.After(at, [this, strike, fate = random.Fork()] { StrikeKeeper(strike, fate); });
    }
  };
  plan(f.blind_keepers, [](AgentHost& agent, Random fate) { agent.BlindKeeper(fate.UpTo(absl::Seconds(60))); });
  plan(f.starved_keepers, [](AgentHost& agent, Random fate) { agent.StarveKeeper(fate.UpTo(absl::Seconds(60))); });
  plan(f.double_kills, [this](AgentHost& agent, Random fate) {
    agent.KillWithKeeper();
    if (processes_.IsAnyAlive(agent.incarnation())) PlanCleaning(agent, fate);
  });
}

void World::StrikeKeeper(const KeeperFault& strike, Random fate) {
  if (AreFaultsOver()) return;
  std::vector<AgentHost*> busy;
  for (const auto& agent : agents_) {
    if (!agent->HasEnded() && processes_.IsAnyAlive(agent->incarnation())) busy.push_back(agent.get());
  }
  if (!busy.empty()) return strike(*fate.Pick(busy), fate);
  sim_.timeline.After(absl::Seconds(3), [this, strike, fate] { StrikeKeeper(strike, fate); });
}

// A person ends the processes that a dead agent left running, and in half of the cases also fences the node.
void World::PlanCleaning(AgentHost& agent, Random fate) {
  const absl::Duration patience = fate.UpTo(absl::Seconds(240));
  sim_.timeline.After(patience, [this, &agent, fate]() mutable {
    agent.EndOrphans();
    if (!fate.Chance(0.5) || IsNodeAlive(agent)) return;
    v1::SteerRequest request;
    request.set_job_id(agent.job_id());
    request.set_node_id(agent.known_id());
    request.set_action(v1::SteerRequest::FENCE);
    request.set_user("operator");
    sim_.Trace("user: fences node ", agent.known_id(), " of job ", agent.job_id());
    scheduler_.Steer(request);
  });
}

// True if any start of the node, by its id or its place, is alive.
bool World::IsNodeAlive(const AgentHost& agent) const {
  return std::any_of(agents_.begin(), agents_.end(), [&](const auto& other) {
    const bool is_same =
        other->job_id() == agent.job_id() && (other->known_id() == agent.known_id() || &other->node() == &agent.node());
    return is_same && (other->HoldsLock() || processes_.IsAnyAlive(other->incarnation()));
  });
}

// Has a random source of its own, so that all other faults of a seed stay the same.
void World::PlanRenewals(Random random) {
  for (int i = 0; i < sim_.parameters.faults.renewals; ++i) {
    const absl::Duration at = random.UpTo(random.Chance(0.5) ? absl::Seconds(20) : sim_.parameters.faults_end);
    const bool is_everywhere = random.Chance(0.7);
    const bool comes_twice = random.Chance(0.3);
    const uint64_t pick = random.Next();
    const auto renew = [this, is_everywhere, pick] {
      std::vector<AgentHost*> alive;
      for (const auto& agent : agents_) {
        if (!agent->HasEnded()) alive.push_back(agent.get());
      }
      for (size_t k = 0; k < alive.size(); ++k) {
        if (is_everywhere || k == pick % alive.size()) alive[k]->RenewCertificate();
      }
    };
    sim_.timeline.After(at, renew);
    if (comes_twice) sim_.timeline.After(at + random.UpTo(absl::Seconds(3)), renew);
  }
}

AgentHost* World::PickAgent() {
  std::vector<AgentHost*> alive;
  for (const auto& agent : agents_) {
    if (!agent->HasEnded()) alive.push_back(agent.get());
  }
  return alive.empty() ? nullptr : fault_random_.Pick(alive);
}

void World::BreakPartition() {
  const size_t machines = sim_.parameters.machines.size();
  const bool both = fault_random_.Chance(0.6);
  const bool up = both || fault_random_.Chance(0.5);
  const bool down = both || !up;
  const absl::Duration length = fault_random_.UpTo(absl::Seconds(fault_random_.Chance(0.5) ? 10 : 90));
  const bool is_wide = fault_random_.Chance(0.3);
  const auto first = static_cast<size_t>(fault_random_.Int(0, static_cast<int64_t>(machines) - 1));
  for (size_t i = 0; i < machines; ++i) {
    if (i == first || (is_wide && fault_random_.Chance(0.5))) network_.Partition(i, up, down, length);
  }
}

void World::CrashMachine() {
  AgentHost* victim = PickAgent();
  if (victim == nullptr) return;
  const size_t machine = victim->node().machine;
  sim_.Trace("fault: machine ", machine, " crashes");
  std::vector<AgentHost*> there;
  for (const auto& agent : agents_) {
    if (agent->node().machine == machine) there.push_back(agent.get());
  }
  for (AgentHost* agent : there) agent->Vanish();
}

void World::RestartScheduler() {
  if (!scheduler_.IsUp()) return;
  absl::Duration pause = fault_random_.UpTo(absl::Seconds(fault_random_.Chance(0.5) ? 1 : 40));
  if (fault_random_.Chance(0.5)) {
    scheduler_.Crash();
  } else {
    scheduler_.Stop();
    pause = pause + absl::Seconds(5);
  }
  sim_.timeline.After(pause, [this] { scheduler_.Start(); });
}

void World::EndFaults() {
  sim_.Trace("the faults end");
  for (const auto& agent : agents_) agent->EndOrphans();
  network_.HealAll();
}

}  // namespace muster::sim
