// The event log of a job in words: a line or more for each record that a person cares about.
//
// The same words stand in the scheduler's log, in `ms-ctl events`, and (for causes) at each agent.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "muster/v1/admin.pb.h"
#include "muster/v1/journal.pb.h"
#include "scheduler/core/events.h"

namespace muster::scheduler {

class State;

// What `record`, about to be applied to `state`, says to a person, in the order in which it happened. number and
// unix_ms are not set.
std::vector<v1::JobEvent> Describe(const State& state, const v1::Record& record);

// How loud a line of this kind is in the log.
Severity SeverityOf(const v1::JobEvent& event);

// "40 ms", "1.5 s", "3 min", "2 h 5 min", "3 d 4 h", "for ever": for people, never parsed. Rounded.
std::string FormatAge(absl::Duration duration);

}  // namespace muster::scheduler
