// Which agents of one user have which TCP port of a network namespace, where the kernel doesn't tell them apart.
//
// A byte each of the file <base>/muster-<uid>/ports (work_folder.h), at the namespace's number and the port, locked
// (F_OFD_SETLK) for as long as the descriptor is open: nobody but this user can open the file. An abstract Unix
// socket's name, which everybody may take, would let every user of the machine keep us from our ports.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace muster::agent {

enum class PortUse { kReservation, kOwnScheduler };

// `base`: see WorkFolder::DefaultBase. kAlreadyExists: another agent of this user has it. Other errors: nobody can
// tell.
absl::StatusOr<UniqueFd> LockPort(const std::string& base, uint16_t port, PortUse use);

}  // namespace muster::agent
