// Runs lives of a journal in processes of their own, so that they can end in any way.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace muster::scheduler {

// Forks. The child runs `life` and exits with its result, without any destructor, which is like kill -9 for the
// journal. Returns the exit code, or 128 + signal.
int InAnotherProcess(const std::function<int()>& life);

// Runs a life that appends the named records ("snapshot …" is one), waits until they are durable, and dies. Returns
// false if that failed.
bool WriteAndDie(const std::string& path, const std::vector<std::string>& names);

}  // namespace muster::scheduler
