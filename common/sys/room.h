// Room for threads, processes and descriptors: checks if there is enough, and which limit prevents it.
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

// Returns RESOURCE_EXHAUSTED, naming the limit and its value, if this process can't have all of that in addition to
// what it has. It gives back everything that it tries before it returns, and others may take it then. So this finds
// limits that are too low, but code that makes a thread later still has to check for failure. Call it while no other
// thread starts or ends.
absl::Status CheckRoom(const Room& wanted);

// The known limits on threads and processes after one could not be made. A limit of 0 is not known, or none.
struct TaskFacts {
  struct Limit {
    std::optional<uint64_t> most;  // nullopt: there is none, or it can't be read
    std::optional<uint64_t> now;   // nullopt: it can't be counted here
  };
  std::string group;             // the control group that is at its pids.max; empty: none can be seen
  Limit of_group;                // its tasks
  bool lacks_addresses = false;  // no more can be mapped, not even unused memory
  bool lacks_memory = false;     // no more memory can be mapped for use
  Limit address_space;           // RLIMIT_AS, bytes
  Limit data;                    // RLIMIT_DATA, bytes
  Limit user;                    // RLIMIT_NPROC: tasks of this user; none where it does not bind this user
  Limit threads;                 // kernel.threads-max
  Limit pids;                    // kernel.pid_max
};

// Collects only the facts that TaskLimitText needs: counting the tasks of a user reads all of /proc.
TaskFacts TaskFactsOfThisProcess();

// Returns ": pids.max of the control group /job is 20, and 20 processes and threads are there: raise it". Pure.
std::string TaskLimitText(const TaskFacts& facts);

// Returns the end of a message that no thread or process can be made now: the limit that is reached, as far as it can
// be seen before anything is given back.
std::string TaskLimitInWords();

// Returns the number of threads of this process.
size_t CountThreads();
// Counts only those with that name, as the system shows it (15 bytes). A thread gets its name a moment after it was
// made.
size_t CountThreadsNamed(std::string_view name);

// Raises the soft limit to the hard one, or to 1,048,576 if that is less, once, at the start: the usual 1,024 are too
// few for many agents or slots. Returns the old limit, for programs that need it back.
rlimit RaiseDescriptorLimit();

// Returns the soft limit, at most 1,048,576.
size_t DescriptorLimit();

}  // namespace muster
