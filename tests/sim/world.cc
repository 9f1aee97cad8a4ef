#include "tests/sim/world.h"

#include "common/base/exit_codes.h"

namespace muster::sim {

World::World(const Parameters& parameters, bool is_verbose)
    : sim_(parameters, is_verbose),
      random_(parameters.seed * 0x9e3779b97f4a7c15 + 7),
      user_random_(random_.Fork()),
      fault_random_(random_.Fork()),
      processes_(sim_, random_.Fork()),
      invariants_(sim_, processes_),
      network_(sim_, random_.Fork()),
      scheduler_(sim_, network_, invariants_, random_.Fork()) {
  network_.SetScheduler(&scheduler_);
}

void World::Run() {
  sim_.Trace(sim_.parameters.Describe());
  // The scheduler comes after the first agents in 30 % of the runs.
  const bool is_late = user_random_.Chance(0.3);
  sim_.timeline.After(is_late ? user_random_.UpTo(absl::Seconds(8)) : absl::ZeroDuration(),
                      [this] { scheduler_.Start(); });
  PlanUsers();
  PlanFaults();
  const MonotonicTime end = MonotonicTime() + sim_.parameters.length;
  absl::Duration checked;
  while (sim_.violation().empty() && sim_.timeline.Step(end)) {
    if (sim_.timeline.elapsed() < checked + absl::Seconds(1)) continue;
    checked = sim_.timeline.elapsed();
    scheduler_.CheckLossesAreInTime();
  }
  if (sim_.violation().empty()) CheckEnd();
}

void World::CheckEnd() {
  for (const auto& agent : agents_) {
    sim_.Expect(agent->HasEnded(),
                absl::StrCat("agent ", agent->known_id(), " (", agent->incarnation(), ") never ended"));
  }
  invariants_.CheckEverythingEnded();
  if (sim_.parameters.is_calm) CheckCalm();
}

// No fault was planned, so everything must have succeeded.
void World::CheckCalm() {
  invariants_.CheckFirstRunsSucceeded();
  for (const auto& agent : agents_) {
    if (agent->node().is_surplus) continue;
    sim_.Expect(agent->exit_code() == kExitSuccess,
                absl::StrCat("nothing went wrong, but agent ", agent->known_id(), " ended with ", agent->exit_code()));
  }
}

}  // namespace muster::sim
