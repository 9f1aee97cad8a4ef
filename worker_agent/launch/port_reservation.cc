#include "worker_agent/launch/port_reservation.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace muster::agent {
namespace {

constexpr uint32_t kPortsOfHccl = 32;
constexpr int kMostTries = 256;  // more than `avoided` can turn down, with room for ports that others lock

absl::Status SystemError(const std::string& what) {
  return absl::UnavailableError(absl::StrCat(what, ": ", std::strerror(errno)));
}

void SetReuseAddress(int fd) {
  const int one = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
}

// Bound to all addresses of both families, else of IPv4 alone. Returns -1 with errno set by socket or bind.
int BindAnyAddress(uint16_t port, bool reuses_address) {
  int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0) {
    const int off = 0;
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    if (reuses_address) SetReuseAddress(fd);
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) return fd;
    const int error = errno;
    close(fd);
    if (error != EADDRNOTAVAIL && error != EAFNOSUPPORT) {
      errno = error;
      return -1;
    }
  }
  fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  if (reuses_address) SetReuseAddress(fd);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

uint16_t BoundPort(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  // The port stands at the same place in both kinds of address.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

// Returns -1 when another reservation holds the port.
int LockPort(uint16_t port) {
  const std::string name = absl::StrCat("muster-port-", port);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

}  // namespace

// Looks for free ports; hands them out as reservations.
class PortSearch {
 public:
  static absl::StatusOr<ReservedPort> AnyOutside(const NumberRange& avoided) {
    std::vector<int> turned_down;  // kept open meanwhile, or the kernel might offer them again
    absl::Status status =
        absl::UnavailableError("no free TCP port was found: the kernel offered none outside of those to avoid");
    std::optional<ReservedPort> found;
    for (int i = 0; i < kMostTries && !found; ++i) {
      const int fd = BindAnyAddress(0, false);
      if (fd < 0) {
        status = SystemError("cannot reserve a TCP port (see /proc/sys/net/ipv4/ip_local_port_range and ulimit -n)");
        break;
      }
      const uint16_t port = BoundPort(fd);
      const int lock_fd = avoided.contains(port) ? -1 : LockPort(port);
      if (lock_fd < 0) {
        turned_down.push_back(fd);
        continue;
      }
      SetReuseAddress(fd);
      found.emplace(ReservedPort(port, fd, lock_fd));
    }
    for (const int fd : turned_down) close(fd);
    if (!found) return status;
    return std::move(*found);
  }

  static absl::StatusOr<ReservedPort> In(const NumberRange& range) {
    // First what is wholly free, then what only old connections linger on.
    for (const bool reuses_address : {false, true}) {
      for (uint32_t port = range.low; port <= range.high; ++port) {
        const auto candidate = static_cast<uint16_t>(port);
        const int lock_fd = LockPort(candidate);
        if (lock_fd < 0) {
          if (errno != EADDRINUSE) return SystemError("cannot reserve a TCP port (see ulimit -n)");
          continue;
        }
        const int fd = BindAnyAddress(candidate, reuses_address);
        if (fd >= 0) {
          SetReuseAddress(fd);
          return ReservedPort(candidate, fd, lock_fd);
        }
        const int error = errno;
        close(lock_fd);
        errno = error;
        if (error != EADDRINUSE) return SystemError(absl::StrCat("cannot reserve TCP port ", port, " of --port_range"));
      }
    }
    return absl::ResourceExhaustedError(
        absl::StrCat("all ports of --port_range ", range.low, "-", range.high,
                     " are in use on this machine; give a wider or another --port_range"));
  }
};

absl::StatusOr<PortOptions> PortOptionsFrom(const std::optional<NumberRange>& port_range,
                                            const std::map<std::string, std::string>& environment) {
  PortOptions options;
  options.range = port_range;
  const auto base = environment.find("HCCL_IF_BASE_PORT");
  if (base == environment.end() || base->second.empty()) return options;
  uint32_t port = 0;
  if (!absl::SimpleAtoi(base->second, &port) || port < 1024 || port > 65520) {
    return absl::InvalidArgumentError(
        absl::StrCat("HCCL_IF_BASE_PORT=\"", base->second, "\" must be a port number from 1024 to 65520"));
  }
  options.avoided = {port, std::min(port + kPortsOfHccl - 1, 65535U)};
  return options;
}

absl::StatusOr<ReservedPort> ReservedPort::Reserve(const PortOptions& options) {
  return options.range ? PortSearch::In(*options.range) : PortSearch::AnyOutside(options.avoided);
}

ReservedPort::ReservedPort(ReservedPort&& other) noexcept
    : port_(other.port_),
      socket_fd_(std::exchange(other.socket_fd_, -1)),
      lock_fd_(std::exchange(other.lock_fd_, -1)) {}

ReservedPort& ReservedPort::operator=(ReservedPort&& other) noexcept {
  if (this == &other) return *this;
  Release();
  port_ = other.port_;
  socket_fd_ = std::exchange(other.socket_fd_, -1);
  lock_fd_ = std::exchange(other.lock_fd_, -1);
  return *this;
}

ReservedPort::~ReservedPort() { Release(); }

void ReservedPort::Release() {
  if (socket_fd_ >= 0) close(socket_fd_);
  if (lock_fd_ >= 0) close(lock_fd_);  // last: until then nobody else takes the port
}

absl::StatusOr<std::vector<ReservedPort>> ReservePorts(const PortOptions& options, size_t count) {
  std::vector<ReservedPort> ports;
  ports.reserve(count);
  while (ports.size() < count) {
    absl::StatusOr<ReservedPort> port = ReservedPort::Reserve(options);
    if (!port.ok()) {
      return absl::Status(port.status().code(), absl::StrCat(port.status().message(), " (", count,
                                                             " ports are needed, ", ports.size(), " were found)"));
    }
    ports.push_back(*std::move(port));
  }
  return ports;
}

}  // namespace muster::agent
