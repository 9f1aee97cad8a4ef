// Reads what a failed process said of its end: the last lines of its output, and the message of its error file. Pure.
//
// The words come from Python, PyTorch (gloo, NCCL), MindSpore (HCCL), the C library and shells. Other output is not
// interpreted.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "muster/v1/types.pb.h"

namespace muster::scheduler {

inline constexpr size_t kMaxQuoteBytes = 300;

struct LastWords {
  absl::string_view reason;  // one of common/base/reason.h's; empty: none known
  std::string
      quote;  // the line that says it, "KeyError: 'lr'"; at most kMaxQuoteBytes, and where it was raised; may be empty
  bool mentions_killed = false;  // it says that its child was killed: a worker of a data loader, or of a pool
};

// Accepts as much as a valid ProcessEnded holds (kMaxLastLines, kMaxLastLineBytes, kMaxErrorMessageBytes).
LastWords ReadLastWords(const v1::ProcessEnded& ended);

}  // namespace muster::scheduler
