//   record                    counted in (the members of Measures)
//   RoundClosed               form (the first of a run), else recover
//   RoundAborted              given_up_rounds, by cause
//   SlotRestarted             restarted_processes
//   NodeLost, NodeRemoved     gone_nodes, by the reason (why)
//   RunEnded                  succeeded_runs, stopped_runs, or failed_runs by cause
//   any other                 nothing
#include "scheduler/core/state/measures.h"

#include "common/causes/outcome.h"

namespace muster::scheduler {

void Measures::Note(const v1::Record& record) {
  switch (record.kind_case()) {
    case v1::Record::kRoundClosed: {
      Histogram& took = record.round_closed().round() <= 1 ? form : recover;
      took.Observe(static_cast<double>(record.round_closed().formed_in_ms()) / 1000);
      return;
    }
    case v1::Record::kRoundAborted:
      ++given_up_rounds[record.round_aborted().first().kind()];
      return;
    case v1::Record::kSlotRestarted:
      ++restarted_processes;
      return;
    case v1::Record::kNodeLost:
      ++gone_nodes[record.node_lost().why()];
      return;
    case v1::Record::kNodeRemoved:
      ++gone_nodes[record.node_removed().why()];
      return;
    case v1::Record::kRunEnded: {
      const v1::Outcome& outcome = record.run_ended().outcome();
      ++(outcome.succeeded()   ? succeeded_runs
         : WasStopped(outcome) ? stopped_runs
                               : failed_runs[outcome.cause().kind()]);
      return;
    }
    default:
      return;
  }
}

}  // namespace muster::scheduler
