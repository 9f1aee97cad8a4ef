// Secret bytes for a child process, behind a descriptor that it inherits: never in a file with a name, an argument or
// the environment.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace muster {

// What a descriptor can hold in any case.
inline constexpr size_t kMaxSecretBytes = 1024 * 1024;

// A descriptor from which `bytes` (at most kMaxSecretBytes) can be read once, close-on-exec; the caller closes it. A
// sealed file in memory, or, where that fails, a pipe. Needs no /proc and no writable file system.
absl::StatusOr<int> MakeSecretDescriptor(const std::string& bytes);

// A file in memory with these bytes, close-on-exec, that may be sealed; read and written from its end. `name` is for
// who looks at the process.
absl::StatusOr<int> MakeMemoryFile(const char* name, const std::string& bytes);

// The same as MakeSecretDescriptor, always by a pipe.
absl::StatusOr<int> MakeSecretPipe(const std::string& bytes);

// Everything behind the descriptor, which is closed in any case. An error if there is more than kMaxSecretBytes.
absl::StatusOr<std::string> TakeSecret(int fd);

}  // namespace muster
