// Chooses the run for a command if the user has not named one. Pure.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "muster/v1/admin.pb.h"

namespace muster::ctl {

// Returns the run to watch or stop, from a reply about all jobs: the only run that has not ended. If all have ended:
// the one opened last if `takes_ended`, otherwise none. If several have not ended, the error lists their jobs and asks
// the user to name one.
absl::StatusOr<std::optional<v1::RunStatus>> ChooseRun(const v1::StatusReply& reply, bool takes_ended);

// Returns the names of the reply's jobs for a message: "a, b, c", at most ten; "none" if there are none.
std::string JobNames(const v1::StatusReply& reply);

}  // namespace muster::ctl
