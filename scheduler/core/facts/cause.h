// Chooses which of several failures was the cause, and puts it into words. Pure functions.
//
// A failure seldom comes alone: when one process dies, its peers soon fail on their broken connections, and may report
// first. So the cause is chosen once all processes have stopped, or after kCauseWait. The first of these kinds wins; of
// several candidates of one kind, the earliest death wins:
//   1. a decision of the user or the scheduler
//   2. a lost node, or a signal that Muster did not send, including a signal that made an agent leave
//   3. a process that left an error message or could not be started
//   4. an exit code
//   5. a report that a peer did not answer, or a node that left by itself
// diagnosis.h finds the reason why a process failed.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "scheduler/core/state/state.h"

namespace muster::scheduler {

inline constexpr size_t kMaxCandidates = 256;  // for each run; later failures are consequences of the earlier ones

inline constexpr absl::Duration kCauseWait = absl::Seconds(2);

// Returns the candidate for a failed process of `run`. Once the run has kMaxCandidates, this does not read the
// process's last output, because reading takes the most time and thousands of processes may fail at once.
CauseCandidate CandidateFrom(const Run& run, const Node& node, uint32_t rank, const v1::ProcessEnded& ended,
                             MonotonicTime died);

// Returns the candidate for a node that was lost, or that left while it held ranks.
CauseCandidate CandidateFrom(const Node& node, v1::Cause::Kind kind, const std::string& why, int signal,
                             MonotonicTime died);

// Returns the candidate for a decision: stopped by a user, the scheduler stopped, never formed, replaced.
CauseCandidate Decision(v1::Cause::Kind kind, std::string text, std::string remedy, MonotonicTime now);

// Returns the candidate to report. `candidates` must not be empty.
const CauseCandidate& ChooseCause(const std::vector<CauseCandidate>& candidates);

// Returns "restart 2 of 3" for a round that was given up; empty if the restart does not count for the budget.
std::string RestartInWords(const v1::Cause& cause, uint32_t recent_restarts, uint32_t max_restarts);

// True while a planned stop ends the processes of the run's round. Until they have ended they may use the store.
bool IsInPlannedStop(const Run& run);

// Removes quoted output from a text that ends with a cause's text. A quote follows the words that say how a process
// ended, so this cuts the text after the first such words. For readers that may not see output.
std::string WithoutQuote(const std::string& text);

// Returns "SIGKILL" for 9; "signal 42" for a number without a name.
std::string SignalName(int signal);

}  // namespace muster::scheduler
