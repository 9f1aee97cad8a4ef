// What a failed process said of its end: in the last lines of its output, and in the message of its error file. Pure.
//
// The words come from Python, PyTorch (gloo, NCCL), MindSpore (HCCL), the C library and shells; what none of them says
// is not guessed at.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "muster/v1/types.pb.h"

namespace muster::scheduler {

inline constexpr size_t kMaxQuoteBytes = 300;

struct LastWords {
  absl::string_view reason;  // one of common/base/reason.h's; empty: nothing that is known
  std::string
      quote;  // the line that says it, "KeyError: 'lr'"; at most kMaxQuoteBytes, and where it was raised; may be empty
  bool tells_of_a_killed = false;  // that a process of its own was killed: a data loader's worker, a pool's
};

// Takes as much as a valid ProcessEnded holds (kMaxLastLines, kMaxLastLineBytes, kMaxErrorMessageBytes).
LastWords ReadLastWords(const v1::ProcessEnded& ended);

}  // namespace muster::scheduler
