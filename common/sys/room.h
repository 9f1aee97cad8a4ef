// Checks whether the system has room for more threads, processes and descriptors, and finds out which limit prevents
// it.
#pragma once

#include <sys/resource.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace muster {

struct Room {
  size_t tasks = 0;  // threads and child processes
  size_t descriptors = 0;
};

// Returns RESOURCE_EXHAUSTED, naming the limit and its value, if this process can't have `wanted` in addition to what
// it has. It finds out by trying, and gives everything back before it returns. Another process may take the room then.
// So this finds limits that are too low, but code that makes a thread later must still check for failure. Call it while
// no other thread starts or ends.
absl::Status CheckRoom(const Room& wanted);

// The limits on threads and processes, collected after one could not be made. A limit of 0 means that it is not known,
// or that there is none.
struct TaskFacts {
  struct Limit {
    std::optional<uint64_t> most;  // nullopt: there is no limit, or it can't be read
    std::optional<uint64_t> now;   // nullopt: the present number can't be found out here
  };
  std::string group;             // the control group that has reached its pids.max; empty: none is visible
  Limit of_group;                // pids.max of `group`, and its tasks
  bool lacks_addresses = false;  // no more addresses can be mapped, not even for unused memory
  bool lacks_memory = false;     // no more memory can be mapped for writing
  Limit address_space;           // RLIMIT_AS, bytes
  Limit data;                    // RLIMIT_DATA, bytes
  Limit user;                    // RLIMIT_NPROC: tasks of this user; not set if the limit does not apply to this user
  Limit threads;                 // kernel.threads-max
  Limit pids;                    // kernel.pid_max
};

// Collects only the facts that TaskLimitText needs, because counting a user's tasks reads all of /proc.
TaskFacts TaskFactsOfThisProcess();

// Returns ": pids.max of the control group /job is 20, and 20 processes and threads are there: raise it". Pure.
std::string TaskLimitText(const TaskFacts& facts);

// Returns the end of a message about a thread or process that can't be made: names the limit that is reached. Call it
// before you end any thread or process; otherwise the limit may no longer look reached.
std::string TaskLimitInWords();

// Returns the number of threads of this process.
size_t CountThreads();
// Counts only threads with this name, as the kernel has it (15 bytes). A thread gets its name a moment after its start.
size_t CountThreadsNamed(std::string_view name);

// Raises the soft limit on open descriptors to the hard limit, but not above 1,048,576. Call it once, at the start: the
// usual 1,024 are too few for many agents or slots. Returns the old limit, for child programs that need it.
rlimit RaiseDescriptorLimit();

// Returns the soft limit on open descriptors, at most 1,048,576.
size_t DescriptorLimit();

}  // namespace muster
