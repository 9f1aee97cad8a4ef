// The machines of a job, in the form in which other launchers read them.
#pragma once

#include <string>

#include "muster/v1/admin.pb.h"

namespace muster {

// `form` is one of kHostFileForms:
//   openmpi, deepspeed   a line "10.0.0.1 slots=4" for each machine
//   mpich                a line "10.0.0.1:4" for each machine
//   horovod              "10.0.0.1:4,10.0.0.2:4", for horovodrun -H
// Machines in the order of their first rank, with as many slots as they have workers. By address; by host name where
// that has IPv6, whose colons none of them reads.
inline constexpr const char* kHostFileForms[] = {"openmpi", "mpich", "horovod", "deepspeed"};

std::string HostFileText(const v1::RanksReply& ranks, const std::string& form);

}  // namespace muster
