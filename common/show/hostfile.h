// The machines of a job, in the forms that other launchers read.
#pragma once

#include <string>

#include "muster/v1/admin.pb.h"

namespace muster {

// Returns the machines in one of kHostFileForms:
//   openmpi, deepspeed   a line "10.0.0.1 slots=4" for each machine
//   mpich                a line "10.0.0.1:4" for each machine
//   horovod              "10.0.0.1:4,10.0.0.2:4", for horovodrun -H
// Machines come in the order of their first rank, and each has as many slots as workers. A machine is named by its
// address; by its host name if the address is IPv6, because none of these launchers can read the colons in it.
inline constexpr const char* kHostFileForms[] = {"openmpi", "mpich", "horovod", "deepspeed"};

std::string HostFileText(const v1::RanksReply& ranks, const std::string& form);

}  // namespace muster
