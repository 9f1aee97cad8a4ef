// Room for threads, processes and descriptors: whether there is enough, and which limit says no.
//
// The limits on processes count threads, also those of the training processes.
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

// RESOURCE_EXHAUSTED, naming the limit and its value, if this process can't have all of that beside what it has now.
// What it tries is given back before this returns. Others may take it then: this finds limits that are too low, and
// whoever makes a thread later still looks whether it got one. While no other thread starts or ends.
absl::Status CheckRoom(const Room& wanted);

// What is known of the limits on threads and processes where one could not be made. A limit of 0 is not known, or none.
struct TaskFacts {
  struct Limit {
    std::optional<uint64_t> most;  // nullopt: there is none, or it can't be read
    std::optional<uint64_t> now;   // nullopt: it can't be counted here
  };
  std::string group;             // the control group whose pids.max is reached; empty: none that can be seen
  Limit of_group;                // its tasks
  bool lacks_addresses = false;  // no more can be mapped, not even without use
  bool lacks_memory = false;     // no more can be mapped for use
  Limit address_space;           // RLIMIT_AS, bytes
  Limit data;                    // RLIMIT_DATA, bytes
  Limit user;                    // RLIMIT_NPROC: tasks of this user; none where it does not bind this user
  Limit threads;                 // kernel.threads-max
  Limit pids;                    // kernel.pid_max
};

// Only as far as TaskLimitText needs them: counting the tasks of a user reads all of /proc.
TaskFacts TaskFactsOfThisProcess();

// ": pids.max of the control group /job is 20, and 20 processes and threads are there: raise it". Pure.
std::string TaskLimitText(const TaskFacts& facts);

// The end of a message that says that no thread or process can be made now: the limit that is reached, by what can be
// seen of it while nothing is given back yet.
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
