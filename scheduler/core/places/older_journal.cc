// With each join, an agent says which round it knows, and which of its events were acknowledged:
//
//   the agent knows                    what happens
//   a round above the run's            no round closes until a person restarts or stops the job: the agents may know
//                                      the next round's number already, and the journal can't say which nodes hold
//                                      ranks. The agents continue their round, because they ignore a lower one
//   such a round, and it is a spare    it may run processes, so the next round also waits until it has quit
//   events that the run doesn't have   these events are lost; later events are taken as usual
//
// A restart gives up the agents' round, not the run's (Lifecycle::AbortRound), so that the next round is above both.
#include "scheduler/core/places/older_journal.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace muster::scheduler {

bool NoteWhatAgentKnows(const v1::Join& join, Run& run, Node& node) {
  const bool was_behind = run.IsRoundBehind();
  node.acknowledged_elsewhere = 0;
  node.must_quit = false;
  if (join.run() != run.record().number) return false;  // a newcomer
  node.acknowledged_elsewhere = join.events_through();
  run.round_elsewhere = std::max(run.round_elsewhere, join.round());
  const bool is_recovering = run.record().phase == v1::RUN_PHASE_RECOVERING;
  const bool knows_round = join.round() > run.record().round || (is_recovering && join.round() == run.record().round);
  node.must_quit = node.record().is_spare && knows_round;
  return !was_behind && run.IsRoundBehind();
}

std::string DescribeOlderJournal(const Run& run) {
  if (!run.IsRoundBehind() || run.IsOver()) return "";
  const std::string own = run.record().round == 0 ? "has none" : absl::StrCat("ends with round ", run.record().round);
  return absl::StrCat(
      "agents are in round ", run.round_elsewhere, ", and this scheduler's journal ", own,
      ": it is an older copy. Processes keep running, and no other round starts. Start ms-scheduler with the newest "
      "journal; if there is none, see that no process of the job runs on a node that is not connected, then `ms-ctl ",
      run.IsUnderWay() ? "restart " : "stop ", run.record().job_id, "`");
}

}  // namespace muster::scheduler
