// The event log of a job in words: a line or more for each record that a person cares about.
//
// The same words stand in the scheduler's log, in `ms-ctl events`, and (for causes) at each agent.
#pragma once

#include <vector>

#include "common/base/severity.h"
#include "muster/v1/admin.pb.h"
#include "muster/v1/journal.pb.h"

namespace muster::scheduler {

class State;

// Returns the lines that `record`, about to be applied to `state`, has for people, in the order in which things
// happened. It does not set number and unix_ms.
std::vector<v1::JobEvent> Describe(const State& state, const v1::Record& record);

// Returns the severity of a line of this kind in the log.
Severity SeverityOf(const v1::JobEvent& event);

}  // namespace muster::scheduler
