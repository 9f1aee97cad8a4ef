// Finds the reason why a process or a node failed, as one word for programs, and a remedy for people. Pure functions.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "muster/v1/types.pb.h"

namespace muster::scheduler {

struct Diagnosis {
  std::string reason;  // a word of common/base/reason.h or of an agent; empty: not known, or the cause's kind is enough
  std::string what;    // follows "rank 1 ended with exit code 1: " in messages; empty: nothing more is known
};

// Diagnoses a process that failed: `ended` has an exit code, a signal or a launch error.
Diagnosis Diagnose(const v1::ProcessEnded& ended);

// True if the reason only says that a peer did not answer. If the peer's own reason is known, that is reported instead.
bool IsOfAPeer(absl::string_view reason);

struct RemedyFacts {
  bool recovers = false;      // the run has recovery, so there is no need to advise it
  bool has_given_up = false;  // the restart budget is used up
  std::string waited_for =
      {};  // "rank 3 on host-b …": the rank for which the other ranks seem to have waited; empty: not known
};

// Returns a remedy for the cause; empty: none is known. Advises recovery only if it would have helped.
std::string RemedyOf(const v1::Cause& cause, const RemedyFacts& facts);

}  // namespace muster::scheduler
