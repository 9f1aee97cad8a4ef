// Reserves TCP ports: from before the join until a training process listens on them, no other program can get them.
//
// A reservation is a socket that is bound to the port on all addresses, has SO_REUSEADDR and never listens. The kernel
// (measured on Linux, see the test) then does not choose the port for a bind to port 0 or an outgoing connection, and
// no process can bind it without SO_REUSEADDR. But a process that binds it with SO_REUSEADDR and listens succeeds; the
// servers of PyTorch, gRPC and nearly all other programs do so. This code binds the socket first and sets SO_REUSEADDR
// after that: two sockets that both have it may share a port, so only a bind without it proves that a port is free.
//
// That proof fails for a port on which connections of an ended process linger (TIME_WAIT, a minute after a restart): it
// can only be bound with SO_REUSEADDR. So each reservation also has a lock (LockPort, below), which keeps two agents of
// one user from reserving the same port.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/number_list.h"
#include "common/base/unique_fd.h"

namespace muster::agent {

struct PortOptions {
  std::optional<NumberRange> range;  // the only ports to use; nullopt: the kernel chooses one, outside `avoided`
  std::vector<NumberRange> avoided{{60000, 60031}};
  std::string avoided_by = "HCCL_IF_BASE_PORT";  // the variable that names `avoided`
  std::string setting = "port_range";            // the setting that names `range`
  std::string lock_base = "/tmp";                // see WorkFolder::DefaultBase
};

// Returns the options for --port_range, or without it for any port except those that HCCL binds on every node:
// HCCL_HOST_SOCKET_PORT_RANGE of --env (`env_setting`) or of the environment, else HCCL_IF_BASE_PORT..+31 (default
// 60000). Ports in --port_range may be HCCL's: that is the user's choice.
absl::StatusOr<PortOptions> PortOptionsFrom(const std::optional<NumberRange>& port_range,
                                            const std::map<std::string, std::string>& environment,
                                            const std::map<std::string, std::string>& env_setting = {});

// A reservation, which ends with this object. Takes two descriptors (one if no lock can be had), both closed on exec.
class ReservedPort {
 public:
  // Reserves one port. The error names what is exhausted: --port_range, the kernel's range, or this process's
  // descriptors.
  static absl::StatusOr<ReservedPort> Reserve(const PortOptions& options);

  uint16_t port() const { return port_; }

 private:
  friend class PortSearch;
  ReservedPort(uint16_t port, UniqueFd socket, UniqueFd lock)
      : port_(port), lock_(std::move(lock)), socket_(std::move(socket)) {}

  uint16_t port_ = 0;
  UniqueFd lock_;  // declared first, so that it is closed after the socket
  UniqueFd socket_;
};

// Reserves `count` ports, or none: the error then says how many were wanted and how many were found.
absl::StatusOr<std::vector<ReservedPort>> ReservePorts(const PortOptions& options, size_t count);

// The purpose for which an agent locks a port. Agents of one user in one network namespace lock the ports that they
// use, since the kernel would let two of them bind the same one.
//
// The lock (F_OFD_SETLK) is on one byte of the file <base>/muster-<uid>/ports (work_folder.h); the namespace's number,
// the port and the use give the byte's position. The lock ends when the descriptor is closed. Only this user can open
// the file. An abstract Unix socket would not do as a lock: any user of the machine could take its name.
enum class PortUse { kReservation, kOwnScheduler };

// Locks a port. `base`: see WorkFolder::DefaultBase. kAlreadyExists: another agent of this user has the lock. Any other
// error: it is not known whether another agent has it.
absl::StatusOr<UniqueFd> LockPort(const std::string& base, uint16_t port, PortUse use);

}  // namespace muster::agent
