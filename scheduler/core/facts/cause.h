// Chooses which of several failures was the cause, and puts it into words. Pure functions.
//
// A failure seldom comes alone: when one process dies, its peers soon fail on their broken connections, and may report
// first. So the cause is chosen once all have stopped, or after kCauseWait. What the user or the scheduler decided goes
// first. Lost nodes follow, and signals that Muster did not send, also those that made an agent leave. Then come
// processes that left an error message, then exit codes. Last come reports that a peer did not answer, and nodes that
// left by themselves. Ties go to the earliest death. diagnosis.h says what a process died of.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "scheduler/core/state/state.h"

namespace muster::scheduler {

inline constexpr size_t kMaxCandidates = 256;  // of a run; the later ones are consequences

inline constexpr absl::Duration kCauseWait = absl::Seconds(2);

// Returns the candidate for a failed process of `run`. Once the run has kMaxCandidates, it does not look at the last
// words: that takes the most time, and a job of thousands of processes fails all at once.
CauseCandidate CandidateFrom(const Run& run, const Node& node, uint32_t rank, const v1::ProcessEnded& ended,
                             MonotonicTime died);

// Returns the candidate for a node that was lost, or that left while it held ranks.
CauseCandidate CandidateFrom(const Node& node, v1::Cause::Kind kind, const std::string& why, int signal,
                             MonotonicTime died);

// Returns the candidate for a decision: stopped by a user, the scheduler stopped, never formed, replaced.
CauseCandidate Decision(v1::Cause::Kind kind, std::string text, std::string remedy, MonotonicTime now);

// Returns the one to report. `candidates` must not be empty.
const CauseCandidate& ChooseCause(const std::vector<CauseCandidate>& candidates);

// True if the processes end on purpose and nothing broke: a stop, a restart, a node that was asked to leave.
bool IsPlannedStop(const v1::Cause& cause);
// True while such a cause stops the processes of the run's round: until they have ended they may use the store.
bool IsInPlannedStop(const Run& run);

// Returns a cause's text, or one that ends with such a text, without the output in it: it is cut after how the first
// process in it ended. For readers that may not see output.
std::string WithoutQuote(const std::string& text);

// Returns "SIGKILL" for 9; "signal 42" for a number without a name.
std::string SignalName(int signal);

}  // namespace muster::scheduler
