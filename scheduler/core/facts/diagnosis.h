// Why a process or a node failed, in one word for programs, and what to do about it, for people. Pure.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "muster/v1/types.pb.h"

namespace muster::scheduler {

struct Diagnosis {
  std::string reason;  // one of common/base/reason.h's, or an agent's word; empty: not known, or the kind says it all
  std::string what;    // for the end of "rank 1 ended with exit code 1: "; empty: nothing more is known
};

// Of a process that failed: `ended` has an exit code, a signal or a launch error.
Diagnosis Diagnose(const v1::ProcessEnded& ended);

// It only says that somebody else did not answer: what that one died of is told rather.
bool IsOfAPeer(absl::string_view reason);

struct RemedyFacts {
  bool recovers = false;        // the run has recovery: what was to come back has been tried
  bool has_given_up = false;    // the restart budget is used up
  std::string waited_for = {};  // "rank 3 on host-b …": whom the others seem to have waited for; empty: not known
};

// What to do about it. Recovery is named only where it would have helped. Empty: nobody has to do anything.
std::string RemedyOf(const v1::Cause& cause, const RemedyFacts& facts);

}  // namespace muster::scheduler
