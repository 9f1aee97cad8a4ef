// Room for threads, processes and descriptors: whether there is enough, and which limit says no.
//
// The limits on processes count threads, also those of the training processes.
#pragma once

#include <sys/resource.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace muster {

struct Room {
  size_t tasks = 0;  // threads and child processes
  size_t descriptors = 0;
};

// RESOURCE_EXHAUSTED, naming the limit and its value, if this process can't have all of that beside what it has now.
// What it tries is given back before this returns. Others may take it then: this finds limits that are too low, and
// whoever makes a thread later still looks whether it got one. While no other thread starts or ends.
absl::Status CheckRoom(const Room& wanted);

// The end of a message that says that no thread or process can be made now: ": pids.max of the control group /job is
// 20, and 20 processes and threads are there: raise it". Where no single limit can be named it lists all of them.
std::string TaskLimitInWords();

// Threads of this process.
size_t CountThreads();
// Those of that name, as the system shows it (15 bytes). A thread has its name a moment after it was made.
size_t CountThreadsNamed(std::string_view name);

// Raises the soft limit to the hard one, or to 1,048,576 if that is less, once, at the start: the usual 1,024 are too
// few for many agents or slots. Returns what held before, for those that shall have it back.
rlimit RaiseDescriptorLimit();

// The soft limit, at most 1,048,576.
size_t DescriptorLimit();

}  // namespace muster
