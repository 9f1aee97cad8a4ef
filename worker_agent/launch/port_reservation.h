// TCP ports that are ours from before the join until a training process listens on them.
//
// A reserved port is held by a socket that is bound to all addresses, has SO_REUSEADDR and never listens. The kernel
// (measured on Linux, see the test) then gives the port to no other bind to port 0 and to no outgoing connection, and
// lets no process bind it without SO_REUSEADDR; yet a process that binds it with SO_REUSEADDR and listens succeeds, as
// do PyTorch's, gRPC's and nearly every other server. The socket is bound before it gets SO_REUSEADDR: two sockets that
// both have it may share a port, so only an exclusive bind proves that a port is free.
//
// Beside it a lock is held (LockPort, below). It keeps two reservations of one user apart where a port of a range has
// to be bound with SO_REUSEADDR from the start, because connections of an ended process still linger on it (TIME_WAIT,
// a minute after a restart). Elsewhere the exclusive bind is proof enough, also without the lock.
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
  std::optional<NumberRange> range;  // ports come from here only; none: the kernel chooses, outside of `avoided`
  NumberRange avoided{60000, 60031};
  std::string setting = "port_range";  // the setting that names `range`
  std::string lock_base = "/tmp";      // see WorkFolder::DefaultBase
};

// `port_range` is the setting. The ports to avoid are HCCL_IF_BASE_PORT..+31 (60000 when not set): HCCL binds there on
// every node. A port range is taken as it is.
absl::StatusOr<PortOptions> PortOptionsFrom(const std::optional<NumberRange>& port_range,
                                            const std::map<std::string, std::string>& environment);

// Held until destroyed. Movable. Two descriptors each (one where no lock can be had), closed on exec.
class ReservedPort {
 public:
  // The error names what is used up: --port_range, the kernel's own range or this process's descriptors.
  static absl::StatusOr<ReservedPort> Reserve(const PortOptions& options);

  uint16_t port() const { return port_; }

 private:
  friend class PortSearch;
  ReservedPort(uint16_t port, UniqueFd socket, UniqueFd lock)
      : port_(port), lock_(std::move(lock)), socket_(std::move(socket)) {}

  uint16_t port_ = 0;
  UniqueFd lock_;  // closed last: until then no one else takes the port
  UniqueFd socket_;
};

// Reserves all or none; the error says how many were wanted and how many there were.
absl::StatusOr<std::vector<ReservedPort>> ReservePorts(const PortOptions& options, size_t count);

// The use of TCP ports of a network namespace by the agents of one user, where the kernel doesn't keep them apart.
//
// Each use has a byte of the file <base>/muster-<uid>/ports (work_folder.h), at the namespace's number and the port,
// locked (F_OFD_SETLK) for as long as the descriptor is open: only this user can open the file. An abstract Unix
// socket's name, which everybody may take, would let every user of the machine keep us from our ports.
enum class PortUse { kReservation, kOwnScheduler };

// `base`: see WorkFolder::DefaultBase. kAlreadyExists: another agent of this user has it. Other errors: unknown.
absl::StatusOr<UniqueFd> LockPort(const std::string& base, uint16_t port, PortUse use);

}  // namespace muster::agent
