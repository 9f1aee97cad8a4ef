// Small blocking pieces of I/O that both sides of ms-exec share.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "common/base/unique_fd.h"

namespace muster::exec {

// False: the other side is gone.
bool WriteAll(int fd, std::string_view bytes);

// Appends what one read gives; a descriptor that has nothing now gives kNothing.
enum class ReadResult { kSome, kNothing, kEnd };
ReadResult ReadSome(int fd, size_t most, std::string& out);

// Blocks these signals and has them read from the descriptor, SIGCHLD also where it was ignored until now.
UniqueFd TakeSignals(const std::vector<int>& signals);
// The next one that waits; 0: none.
int NextSignal(int fd);
// For a process that is about to become another program.
void RestoreSignals();

}  // namespace muster::exec
