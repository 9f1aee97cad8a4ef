// Finds why a process or a node failed, in one word for programs, and what people can do about it. Pure functions.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "muster/v1/types.pb.h"

namespace muster::scheduler {

struct Diagnosis {
  std::string reason;  // one of common/base/reason.h's, or an agent's word; empty: not known, or the kind says it all
  std::string what;    // for the end of "rank 1 ended with exit code 1: "; empty: nothing more is known
};

// Diagnoses a process that failed: `ended` has an exit code, a signal or a launch error.
Diagnosis Diagnose(const v1::ProcessEnded& ended);

// True if the reason only says that a peer did not answer: then the peer's own reason is reported instead.
bool IsOfAPeer(absl::string_view reason);

struct RemedyFacts {
  bool recovers = false;      // the run has recovery: it has already tried what recovery can do
  bool has_given_up = false;  // the restart budget is used up
  std::string waited_for =
      {};  // "rank 3 on host-b …": the rank for which the others seem to have waited; empty: not known
};

// Returns what to do about it; empty: nothing. Names recovery only where it would have helped.
std::string RemedyOf(const v1::Cause& cause, const RemedyFacts& facts);

}  // namespace muster::scheduler
