// Lives of a journal in processes of their own, so that they can end in any way.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace muster::scheduler {

// Forks; the child runs `life` and ends with what it returns, without any destructor: like kill -9 for all that the
// journal knows. Returns the exit code, or 128 + signal.
int InAnotherProcess(const std::function<int()>& life);

// A life that appends the named records ("snapshot …" is one), waits until they are durable, and dies. False when that
// did not work out.
bool WriteAndDie(const std::string& path, const std::vector<std::string>& names);

}  // namespace muster::scheduler
