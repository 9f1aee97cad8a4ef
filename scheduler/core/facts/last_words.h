// Finds the reason for a process's end in the last lines of its output and in the message of its error file. Pure.
//
// It knows the messages of Python, PyTorch (gloo, NCCL), MindSpore (HCCL), the C library and shells, and ignores other
// output.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "muster/v1/types.pb.h"

namespace muster::scheduler {

inline constexpr size_t kMaxQuoteBytes = 300;

struct LastWords {
  absl::string_view reason;  // a word of common/base/reason.h; empty: not known
  // The line that names the reason, such as "KeyError: 'lr'", at most kMaxQuoteBytes, and after it the place where it
  // was raised. May be empty.
  std::string quote;
  bool mentions_killed = false;  // the output says that a child was killed, such as a worker of a data loader
};

// The size of `ended` must have been checked (kMaxLastLines, kMaxLastLineBytes, kMaxErrorMessageBytes).
LastWords ReadLastWords(const v1::ProcessEnded& ended);

}  // namespace muster::scheduler
