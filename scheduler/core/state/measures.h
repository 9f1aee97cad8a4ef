// Figures for monitoring since this scheduler started. A crash loses them, and no decision depends on them.
#pragma once

#include <cstdint>
#include <map>

#include "absl/time/time.h"
#include "muster/v1/journal.pb.h"
#include "scheduler/core/state/histogram.h"

namespace muster::scheduler {

struct Measures {
  // Time by which a heartbeat came later than the interval, in seconds.
  Histogram heartbeat_lateness{{0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30}};
  // Time from a run's opening to its first round, and from the end of a round to the next one, in seconds.
  Histogram form{{0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800}};
  Histogram recover{{0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800}};
  std::map<v1::Cause::Kind, uint64_t> failed_runs;
  std::map<v1::Cause::Kind, uint64_t> given_up_rounds;  // only rounds after which the run went on
  std::map<v1::NodeRemoved::Why, uint64_t> gone_nodes;
  uint64_t succeeded_runs = 0;
  uint64_t stopped_runs = 0;         // by a person; they count as no failure
  uint64_t restarted_processes = 0;  // only those that restarted alone (restart_scope "worker")

  void Note(const v1::Record& record);
  // `since` is the time since the previous heartbeat.
  void NoteHeartbeat(absl::Duration since, absl::Duration interval) {
    heartbeat_lateness.Observe(std::max(0.0, absl::ToDoubleSeconds(since - interval)));
  }
};

}  // namespace muster::scheduler
