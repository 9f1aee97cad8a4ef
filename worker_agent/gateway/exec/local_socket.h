// A Unix socket in the agent's own folder. Its path may be longer than the 107 bytes that the kernel takes.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/base/unique_fd.h"

namespace muster::exec {

// Returns a nonblocking listener at `path`, which only the folder's owner can reach. Replaces any file at `path`.
absl::StatusOr<UniqueFd> ListenLocally(const std::string& path);

// Connects to the listener at `path`. Blocks.
absl::StatusOr<UniqueFd> ConnectLocally(const std::string& path);

}  // namespace muster::exec
