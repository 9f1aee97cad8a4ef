// Notices when agents know more than the journal. This happens when a person has replaced the journal by an older copy.
#pragma once

#include <string>

#include "muster/v1/rendezvous.pb.h"
#include "scheduler/core/state/state.h"

namespace muster::scheduler {

// Call it for each join that is admitted. Returns true if this join is the first to show that the run's round is behind
// the agents' (Run::IsRoundBehind).
bool NoteWhatAgentKnows(const v1::Join& join, Run& run, Node& node);

// Returns a text about the problem and its remedy; empty if the journal is not an older copy.
std::string DescribeOlderJournal(const Run& run);

}  // namespace muster::scheduler
