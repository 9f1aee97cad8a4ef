// Which of several failures was the cause, and how it is told. Pure functions.
//
// A failure seldom comes alone: when one process dies, its peers fail on their broken connections soon after, and may
// report first. So the cause is chosen when all have stopped or after kCauseWait: what the user or the scheduler
// decided, then nodes that were lost and signals that nobody of us sent (also those that made an agent leave), then
// processes that left an error message, then exit codes, then what only says that a peer did not answer, and nodes that
// left by themselves; ties go to the earliest death. diagnosis.h says what a process died of.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "scheduler/core/state/state.h"

namespace muster::scheduler {

inline constexpr size_t kMaxCandidates = 256;  // of a run; the later ones are consequences

inline constexpr absl::Duration kCauseWait = absl::Seconds(2);

// How a process of `run` that failed is told. Once the run has kMaxCandidates, its last words are not looked at: that
// takes the most time, and a job of thousands of processes fails all at once.
CauseCandidate CandidateFrom(const Run& run, const Node& node, uint32_t rank, const v1::ProcessEnded& ended,
                             MonotonicTime died);

// A node that was lost or left while it held ranks.
CauseCandidate CandidateFrom(const Node& node, v1::Cause::Kind kind, const std::string& why, int signal,
                             MonotonicTime died);

// A decision: stopped by a user, the scheduler stopped, never formed, replaced.
CauseCandidate Decision(v1::Cause::Kind kind, std::string text, std::string remedy, MonotonicTime now);

// The one that is told. `candidates` is not empty.
const CauseCandidate& ChooseCause(const std::vector<CauseCandidate>& candidates);

// Somebody wants the processes to end, and nothing broke: a stop, a restart, a node that was told to leave.
bool IsPlannedStop(const v1::Cause& cause);
// The processes of the run's round are being stopped for such a cause: until they have ended they may use the store.
bool IsInPlannedStop(const Run& run);

// A cause's text, or one that ends with such a text, without what the process said of itself: up to how the first
// process that it tells of ended. For those who may not see output.
std::string WithoutQuote(const std::string& text);

// "SIGKILL" for 9; "signal 42" for what has no name.
std::string SignalName(int signal);

}  // namespace muster::scheduler
