// The variables that an agent sets for its processes, as digests in a variable of its own. With them, a Muster program
// that runs inside such a process (an evaluation that is a job of its own) sees that the outer job's MASTER_PORT,
// MS_WORKER_NUM and so on are no settings of the user. A variable counts as the user's again once its value differs
// from the digest.
#pragma once

#include <map>
#include <string>

namespace muster {

inline constexpr char kGivenVariable[] = "MUSTER_GIVEN";

// Returns the value of kGivenVariable: "NAME=digest,…".
std::string GivenValues(const std::map<std::string, std::string>& given);

// Removes each variable that still has its given value, and kGivenVariable itself.
void DropGivenValues(std::map<std::string, std::string>& environment);

// Returns this process's environment without the variables that the agent of an outer job gave.
std::map<std::string, std::string> OwnEnvironment();

}  // namespace muster
