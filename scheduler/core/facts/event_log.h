// Writes the event log of a job in words: one or more lines for each record that matters to people.
//
// The scheduler's log and `ms-ctl events` show these lines. Agents show only the text of a cause.
#pragma once

#include <vector>

#include "common/base/severity.h"
#include "muster/v1/admin.pb.h"
#include "muster/v1/journal.pb.h"

namespace muster::scheduler {

class State;

// Returns the lines for people about `record`, in the order in which things happened. Call it before the record is
// applied to `state`. It sets neither number nor unix_ms.
std::vector<v1::JobEvent> Describe(const State& state, const v1::Record& record);

// Returns the severity with which the scheduler logs a line of this kind.
Severity SeverityOf(const v1::JobEvent& event);

}  // namespace muster::scheduler
