// How all programs begin: the first line of each main.
#pragma once

namespace muster {

// Opens /dev/null for each standard stream that is missing, so that no socket or pipe gets its number and is taken for
// it; names the process; and lets a file that may not grow (RLIMIT_FSIZE) be an error of the write, not the end of the
// program. Before anything opens a descriptor.
void BeginProgram(const char* name);

}  // namespace muster
