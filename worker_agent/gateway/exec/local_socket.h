// A Unix socket in the agent's own folder. Its path may be longer than the 107 bytes that the kernel takes.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/base/unique_fd.h"

namespace muster::exec {

// Returns a nonblocking listener, for the folder's owner only. Replaces any file of that path.
absl::StatusOr<UniqueFd> ListenLocally(const std::string& path);

// Blocks.
absl::StatusOr<UniqueFd> ConnectLocally(const std::string& path);

}  // namespace muster::exec
