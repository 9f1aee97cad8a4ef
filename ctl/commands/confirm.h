// Whether a person has to say yes before a job is stopped.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "muster/v1/admin.pb.h"

namespace muster::ctl {

// Why stopping this run wants a yes: the job was not named, or is another user's. Empty: it wants none.
std::string WhyAsk(const v1::RunStatus& run, bool is_named, const std::string& user);

// Asks on the terminal. An error says what to do: nobody is there to ask (standard input is no terminal), or the answer
// was no. Blocks until a line is typed.
absl::Status AskYes(const v1::RunStatus& run, const std::string& why);

}  // namespace muster::ctl
