// The actions of people and their job managers: start, start again, look, stop.
#include <algorithm>
#include <utility>

#include "tests/sim/world.h"

namespace muster::sim {

void World::PlanUsers() {
  for (const JobSpec& job : sim_.parameters.jobs) {
    for (const NodeSpec& spec : job.nodes) {
      places_.push_back(std::make_unique<Place>(Place{&job, &spec, spec.node_id, nullptr}));
      sim_.timeline.After(spec.start_delay, [this, place = places_.back().get()] { StartAgent(*place); });
    }
  }
  for (int64_t i = user_random_.Int(0, 10); i > 0; --i) {
    sim_.timeline.After(user_random_.UpTo(sim_.parameters.length), [this] { AskSomething(); });
  }
  for (int i = 0; i < sim_.parameters.faults.stop_requests; ++i) {
    sim_.timeline.After(user_random_.UpTo(sim_.parameters.faults_end), [this] { AskToStop(); });
  }
  for (int i = 0; i < sim_.parameters.faults.steerings; ++i) {
    sim_.timeline.After(user_random_.UpTo(sim_.parameters.faults_end), [this] { SteerSomething(); });
  }
}

void World::StartAgent(Place& place) {
  if (place.current != nullptr && !place.current->HasEnded()) return;
  // The new agent waits a little for the node's lock. The agent before and its keeper hold it as long as they live.
  const bool is_locked = IsLocked(place);
  if (is_locked && random_.Chance(0.7)) {
    sim_.timeline.After(absl::Milliseconds(200), [this, &place] {
      if (!AreFaultsOver()) StartAgent(place);
    });
    return;
  }
  const uint64_t incarnation = random_.Next() | 1;
  std::optional<LockFile> lock = is_locked ? std::nullopt : TakeLock(place, incarnation);
  agents_.push_back(std::make_unique<AgentHost>(AgentHost::Parts{sim_, network_, processes_, invariants_}, *place.job,
                                                *place.spec, place.kept_id, std::move(lock), incarnation,
                                                random_.Fork()));
  place.current = agents_.back().get();
  place.current->SetOnEnd([this, &place] { OnAgentEnd(place); });
  sim_.Trace("user: starts agent ", place.kept_id, " (", incarnation, ") of job ", place.job->id, " on machine ",
             place.spec->machine);
  place.current->Begin();
}

bool World::IsLocked(const Place& place) const {
  return std::any_of(agents_.begin(), agents_.end(), [&](const auto& agent) {
    return agent->node().machine == place.spec->machine && agent->job_id() == place.job->id &&
           agent->known_id() == place.kept_id && agent->HoldsLock();
  });
}

// A new start that has got the lock ends the processes of the start before it, which the file names. Only then may it
// report that start's end. Now and then an older file has been restored.
std::optional<LockFile> World::TakeLock(Place& place, uint64_t incarnation) {
  constexpr size_t kMaxEnded = 8;
  Random fate((sim_.parameters.seed ^ incarnation) * 41 + 11);
  if (sim_.parameters.faults.double_kills > 0 && !place.backups.empty() && fate.Chance(0.1)) {
    sim_.Trace("fault: the file of the lock of ", place.kept_id, " is rolled back");
    place.lock = fate.Pick(place.backups);
  }
  LockFile taken{incarnation, {}};
  if (EndOrphans(place)) {
    taken.ended = place.lock.ended;
    if (place.lock.start != 0) taken.ended.push_back(place.lock.start);
    if (taken.ended.size() > kMaxEnded) taken.ended.erase(taken.ended.begin());
  }
  place.backups.push_back(place.lock);
  return place.lock = taken;
}

// Returns false if it can't look at the processes.
bool World::EndOrphans(const Place& place) {
  for (const auto& agent : agents_) {
    if (agent->incarnation() != place.lock.start || !processes_.IsAnyAlive(agent->incarnation())) continue;
    if (agent->incarnation() % 5 == 0) return false;
    agent->EndOrphans();
  }
  return true;
}

void World::OnAgentEnd(Place& place) {
  place.kept_id = place.current->known_id();
  if (AreFaultsOver()) return;
  if (user_random_.Chance(place.job->restart_node)) {
    const absl::Duration longest = absl::Seconds(user_random_.Chance(0.5) ? 3 : 30);
    const absl::Duration delay = user_random_.Between(absl::Milliseconds(200), longest);
    sim_.timeline.After(delay, [this, &place] {
      if (!AreFaultsOver()) StartAgent(place);
    });
    return;
  }
  // Runs later, because the agent is still on the stack.
  sim_.timeline.After(absl::Milliseconds(100), [this, job = place.job] { StartJobAgainIfOver(*job); });
}

void World::StartJobAgainIfOver(const JobSpec& job) {
  if (AreFaultsOver()) return;
  for (const auto& place : places_) {
    if (place->job == &job && (place->current == nullptr || !place->current->HasEnded())) return;
  }
  if (!user_random_.Chance(job.restart_job)) return;
  const absl::Duration pause = user_random_.UpTo(absl::Seconds(20));
  for (const auto& place : places_) {
    if (place->job != &job) continue;
    sim_.timeline.After(pause + place->spec->start_delay, [this, place = place.get()] {
      if (!AreFaultsOver()) StartAgent(*place);
    });
  }
}

void World::AskSomething() {
  switch (user_random_.Int(0, 3)) {
    case 0:
      return scheduler_.Ask(v1::StatusRequest());
    case 1: {
      v1::NodesRequest request;
      request.set_job_id(user_random_.Chance(0.9) ? sim_.parameters.jobs.front().id : "nobody's");
      return scheduler_.Ask(request);
    }
    case 2: {
      v1::RanksRequest request;
      request.set_job_id(sim_.parameters.jobs.front().id);
      request.set_run(static_cast<uint64_t>(user_random_.Int(0, 2)));
      return scheduler_.Ask(request);
    }
    default:
      return scheduler_.Ask(v1::EventsRequest());
  }
}

void World::SteerSomething() {
  const Place& place = *user_random_.Pick(places_);
  if (user_random_.Chance(0.15)) return scheduler_.AskForStacks(place.job->id);
  v1::SteerRequest request;
  request.set_job_id(place.job->id);
  request.set_node_id(place.current == nullptr ? place.kept_id : place.current->known_id());
  const int64_t dice = user_random_.Int(0, 9);
  request.set_action(dice < 4   ? v1::SteerRequest::RESTART
                     : dice < 9 ? v1::SteerRequest::DRAIN
                                : v1::SteerRequest::UNDRAIN);
  request.set_user("operator");
  sim_.Trace("user: ", v1::SteerRequest::Action_Name(request.action()), " node ", request.node_id(), " of job ",
             place.job->id);
  scheduler_.Steer(request);
}

void World::AskToStop() {
  const auto which = static_cast<size_t>(user_random_.Int(0, static_cast<int64_t>(sim_.parameters.jobs.size()) - 1));
  sim_.Trace("user: stops job ", sim_.parameters.jobs[which].id);
  scheduler_.AskToStop(sim_.parameters.jobs[which].id);
}

}  // namespace muster::sim
