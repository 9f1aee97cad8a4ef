// Passes secret bytes to a child process through a descriptor that it inherits: never in a file with a name, an
// argument or the environment.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace muster {

// Every such descriptor can hold this much.
inline constexpr size_t kMaxSecretBytes = 1024 * 1024;

// Returns a descriptor from which `bytes` (at most kMaxSecretBytes) can be read once, close-on-exec; the caller closes
// it. It is a sealed file in memory or, if that fails, a pipe. Needs no /proc and no writable file system.
absl::StatusOr<int> MakeSecretDescriptor(const std::string& bytes);

// Returns a file in memory with these bytes, close-on-exec, sealable, positioned at its end. `name` is for people who
// look at the process.
absl::StatusOr<int> MakeMemoryFile(const char* name, const std::string& bytes);

// The same as MakeSecretDescriptor, always with a pipe.
absl::StatusOr<int> MakeSecretPipe(const std::string& bytes);

// Reads the descriptor to its end, and closes it in any case. An error if there is more than kMaxSecretBytes.
absl::StatusOr<std::string> TakeSecret(int fd);

}  // namespace muster
