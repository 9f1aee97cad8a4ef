// Finds out that agents know more than the journal: someone has put an older copy in its place.
#pragma once

#include <string>

#include "muster/v1/rendezvous.pb.h"
#include "scheduler/core/state/state.h"

namespace muster::scheduler {

// Call it for each start of a node that is let in. Returns true if this is how the scheduler learns that the run's
// round is behind (Run::IsRoundBehind).
bool NoteWhatAgentKnows(const v1::Join& join, Run& run, Node& node);

// Returns what is wrong and what to do; empty: nothing is.
std::string DescribeOlderJournal(const Run& run);

}  // namespace muster::scheduler
