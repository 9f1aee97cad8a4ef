// Passes secret bytes to a child process through a descriptor that the child inherits. They never appear in a named
// file, an argument or the environment.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace muster {

// The most bytes that each kind of descriptor can pass.
inline constexpr size_t kMaxSecretBytes = 1024 * 1024;

// Returns a descriptor from which `bytes` (at most kMaxSecretBytes) can be read once. It is close-on-exec, and the
// caller closes it. It is a sealed file in memory or, if that fails, a pipe. Needs neither /proc nor a writable file
// system.
absl::StatusOr<int> MakeSecretDescriptor(const std::string& bytes);

// Returns a file in memory with these bytes: close-on-exec, sealable, positioned at its end. `name` is shown to people,
// for example in /proc/PID/fd.
absl::StatusOr<int> MakeMemoryFile(const char* name, const std::string& bytes);

// As MakeSecretDescriptor, but always with a pipe.
absl::StatusOr<int> MakeSecretPipe(const std::string& bytes);

// Reads the descriptor to its end, and closes it in any case. More than kMaxSecretBytes is an error.
absl::StatusOr<std::string> TakeSecret(int fd);

}  // namespace muster
