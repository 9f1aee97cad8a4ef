// Marks the variables that an agent sets for its processes: kGivenVariable has a digest of each. A Muster program may
// run inside such a process (for example an evaluation that is a job of its own). By the digests it sees that
// MASTER_PORT, MS_WORKER_NUM and so on come from the outer job, and are no settings of the user. A variable counts as
// the user's again once its value no longer fits the digest.
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
