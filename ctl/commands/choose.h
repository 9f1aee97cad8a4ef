// Which run a command is about when the user did not say so. Pure.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "muster/v1/admin.pb.h"

namespace muster::ctl {

// The run to watch or stop out of a reply about all jobs: the only live one, else (`takes_ended`) the one opened last,
// else none. Several live ones are an error that names them and --job.
absl::StatusOr<std::optional<v1::RunStatus>> ChooseRun(const v1::StatusReply& reply, bool takes_ended);

// "a, b, c": the jobs of the reply, at most ten, for a message; "none".
std::string JobNames(const v1::StatusReply& reply);

}  // namespace muster::ctl
