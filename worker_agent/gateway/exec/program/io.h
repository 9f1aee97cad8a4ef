// Small blocking I/O functions that both sides of ms-exec share.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "common/base/unique_fd.h"

namespace muster::exec {

// Writes all bytes; blocks if necessary. Returns false if the other side is gone.
bool WriteAll(int fd, std::string_view bytes);

// Appends the bytes of one read. Returns kNothing if the descriptor has nothing now.
enum class ReadResult { kSome, kNothing, kEnd };
ReadResult ReadSome(int fd, size_t most, std::string& out);

// Blocks these signals and returns a descriptor from which they can be read. SIGCHLD can be read even if it was ignored
// before.
UniqueFd TakeSignals(const std::vector<int>& signals);
// Returns the next pending signal; 0: none.
int NextSignal(int fd);
// Restores default signal handling, in a process that is about to become another program.
void RestoreSignals();

}  // namespace muster::exec
