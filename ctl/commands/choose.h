// Chooses the run for a command when the user names none. Pure.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "muster/v1/admin.pb.h"

namespace muster::ctl {

// Chooses the run to watch or stop from a reply about all jobs: the only live one, else (`takes_ended`) the one opened
// last, else none. Several live ones are an error that names them and --job.
absl::StatusOr<std::optional<v1::RunStatus>> ChooseRun(const v1::StatusReply& reply, bool takes_ended);

// Returns "a, b, c": the jobs of the reply, at most ten, for a message; "none".
std::string JobNames(const v1::StatusReply& reply);

}  // namespace muster::ctl
