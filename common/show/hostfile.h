// The machines of a job, in the forms that other launchers read.
#pragma once

#include <string>

#include "muster/v1/admin.pb.h"

namespace muster {

// Returns the machines in one of kHostFileForms:
//   openmpi, deepspeed   a line "10.0.0.1 slots=4" for each machine
//   mpich                a line "10.0.0.1:4" for each machine
//   horovod              "10.0.0.1:4,10.0.0.2:4", for horovodrun -H
// Machines come in the order of their first rank, with as many slots as they have workers. They are named by address,
// or by host name if the address is IPv6: none of these launchers reads its colons.
inline constexpr const char* kHostFileForms[] = {"openmpi", "mpich", "horovod", "deepspeed"};

std::string HostFileText(const v1::RanksReply& ranks, const std::string& form);

}  // namespace muster
