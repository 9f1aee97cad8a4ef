#include "worker_agent/launch/port_reservation.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/sys/file_io.h"
#include "common/sys/private_folder.h"
#include "worker_agent/launch/hccl_ports.h"
#include "worker_agent/launch/work_folder.h"

namespace muster::agent {

namespace {

constexpr char kPortsOfKernel[] = "/proc/sys/net/ipv4/ip_local_port_range";
constexpr uint32_t kPortsOfHccl = 32;
// More than HCCL's 32 ports, so that ports which other agents have locked can be skipped, too. A wider
// HCCL_HOST_SOCKET_PORT_RANGE seldom has so many of the ports that the kernel offers in a row.
constexpr int kMaxTries = 256;

absl::Status SystemError(const std::string& what) {
  return absl::UnavailableError(absl::StrCat(what, ": ", std::strerror(errno)));
}

void SetReuseAddress(int fd) {
  const int one = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
}

// Returns a socket bound to the port on all addresses of IPv6 and IPv4, or of IPv4 alone if there is no IPv6. -1:
// failed; errno says why.
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
  // sockaddr_in and sockaddr_in6 have the port at the same place.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

// True if another agent of this user has reserved the port, or tries to at this moment.
bool IsOfAnother(const absl::StatusOr<UniqueFd>& lock) { return absl::IsAlreadyExists(lock.status()); }

bool IsOutOfDescriptors(int error) { return error == EMFILE || error == ENFILE; }

absl::Status NoPortOfKernels(int error) {
  if (IsOutOfDescriptors(error)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot reserve a TCP port: ", std::strerror(error), " (ulimit -n)"));
  }
  if (error != EADDRINUSE)
    return absl::UnavailableError(absl::StrCat("cannot bind a TCP port: ", std::strerror(error)));
  absl::StatusOr<std::string> range = ReadSmallFile(kPortsOfKernel, 256);
  if (range.ok()) absl::StripAsciiWhitespace(&*range);
  return absl::ResourceExhaustedError(
      absl::StrCat("all TCP ports from which the kernel chooses are in use (", kPortsOfKernel, ": ",
                   range.ok() ? absl::StrReplaceAll(*range, {{"\t", "-"}}) : "not readable",
                   "); end what holds them (ss -tanp), widen that range, or give another range with --port_range"));
}

}  // namespace

// Finds free ports and returns reservations of them.
class PortSearch {
 public:
  static absl::StatusOr<ReservedPort> AnyOutside(const PortOptions& options) {
    std::vector<UniqueFd> turned_down;  // stay open during the search, so that the kernel offers other ports
    for (int i = 0; i < kMaxTries; ++i) {
      UniqueFd fd(BindAnyAddress(0, false));
      if (!fd.is_open() && errno == EADDRINUSE && !turned_down.empty()) break;
      if (!fd.is_open()) return NoPortOfKernels(errno);
      const uint16_t port = BoundPort(fd.get());
      const bool is_avoided = std::any_of(options.avoided.begin(), options.avoided.end(),
                                          [&](const NumberRange& range) { return range.contains(port); });
      if (!is_avoided) {
        absl::StatusOr<UniqueFd> lock = LockPort(options.lock_base, port, PortUse::kReservation);
        if (!IsOfAnother(lock)) return Reserved(port, std::move(fd), std::move(lock));
      }
      turned_down.push_back(std::move(fd));
    }
    const std::string of_hccl = options.avoided.empty() ? ""
                                                        : absl::StrCat("HCCL's (", ShowPorts(options.avoided), ", ",
                                                                       options.avoided_by, ") or ");
    return absl::UnavailableError(absl::StrCat("no free TCP port was found: all of the last ", turned_down.size(),
                                               " that the kernel offered are ", of_hccl,
                                               "another agent's; give --port_range"));
  }

  static absl::StatusOr<ReservedPort> In(const NumberRange& range, const PortOptions& options) {
    std::string no_locks;
    // Looks first for ports that are wholly free, then for ports on which only old connections linger (TIME_WAIT). For
    // the latter only the lock shows whether another agent of this user has reserved the port.
    for (const bool reuses_address : {false, true}) {
      for (uint32_t number = range.low; number <= range.high; ++number) {
        const auto port = static_cast<uint16_t>(number);
        absl::StatusOr<UniqueFd> lock = LockPort(options.lock_base, port, PortUse::kReservation);
        if (IsOfAnother(lock)) continue;
        if (!lock.ok() && reuses_address) {
          no_locks = absl::StrCat(
              "; connections may linger on some of them (TIME_WAIT), but such ports can't be used again "
              "without a lock: ",
              lock.status().message());
          break;
        }
        UniqueFd fd(BindAnyAddress(port, reuses_address));
        if (fd.is_open()) return Reserved(port, std::move(fd), std::move(lock));
        if (IsOutOfDescriptors(errno)) return NoPortOfKernels(errno);
        if (errno != EADDRINUSE)
          return SystemError(absl::StrCat("cannot reserve TCP port ", port, " of --", options.setting));
      }
    }
    const std::string taken = range.low == range.high
                                  ? absl::StrCat("port ", range.low, " (--", options.setting,
                                                 ") is in use on this machine; give another one, or end what has it "
                                                 "(ss -ltnp)")
                                  : absl::StrCat("all ports of --", options.setting, " ", range.low, "-", range.high,
                                                 " are in use on this machine; give a wider or another range");
    return absl::ResourceExhaustedError(absl::StrCat(taken, no_locks));
  }

 private:
  static ReservedPort Reserved(uint16_t port, UniqueFd socket, absl::StatusOr<UniqueFd> lock) {
    SetReuseAddress(socket.get());
    return {port, std::move(socket), lock.ok() ? *std::move(lock) : UniqueFd()};
  }
};

absl::StatusOr<PortOptions> PortOptionsFrom(const std::optional<NumberRange>& port_range,
                                            const std::map<std::string, std::string>& environment,
                                            const std::map<std::string, std::string>& env_setting) {
  PortOptions options;
  options.range = port_range;
  options.lock_base = WorkFolder::DefaultBase(environment);
  absl::StatusOr<SocketPorts> host = FindSocketPorts(kHcclHostPortsVariable, env_setting, environment);
  if (!host.ok()) return host.status();
  if (host->choice == PortChoice::kRanges || host->choice == PortChoice::kAuto) {
    options.avoided = std::move(host->ranges);  // with auto none: HCCL takes ports that are free then
    options.avoided_by = kHcclHostPortsVariable;
    return options;
  }
  const auto base = environment.find(kHcclBasePortVariable);
  if (base == environment.end() || base->second.empty()) return options;
  uint32_t port = 0;
  if (!absl::SimpleAtoi(base->second, &port) || port < 1024 || port > 65520) {
    return absl::InvalidArgumentError(
        absl::StrCat("HCCL_IF_BASE_PORT=\"", base->second, "\" must be a port number from 1024 to 65520"));
  }
  options.avoided = {NumberRange{port, std::min(port + kPortsOfHccl - 1, 65535U)}};
  return options;
}

absl::StatusOr<ReservedPort> ReservedPort::Reserve(const PortOptions& options) {
  return options.range ? PortSearch::In(*options.range, options) : PortSearch::AnyOutside(options);
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

namespace {

constexpr off_t kPorts = 65536;
constexpr off_t kNamespaces = off_t{1} << 40;  // numbers of namespaces have 32 bits

}  // namespace

absl::StatusOr<UniqueFd> LockPort(const std::string& base, uint16_t port, PortUse use) {
  const absl::StatusOr<UniqueFd> folder = WorkFolder::OpenUserFolder(base);
  if (!folder.ok()) return folder.status();
  absl::StatusOr<UniqueFd> file = OpenOwnFile(*folder, WorkFolder::UserFolder(base), "ports", O_RDWR | O_CREAT, 0600);
  if (!file.ok()) return file.status();
  struct stat space {};
  if (stat("/proc/self/ns/net", &space) != 0) space.st_ino = 0;  // all namespaces of this user then count as one
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  const off_t number = static_cast<off_t>(space.st_ino % static_cast<ino_t>(kNamespaces));
  lock.l_start = (2 * number + (use == PortUse::kOwnScheduler ? 1 : 0)) * kPorts + port;
  lock.l_len = 1;
  if (fcntl(file->get(), F_OFD_SETLK, &lock) == 0) return file;
  if (errno == EAGAIN || errno == EACCES) {
    return absl::AlreadyExistsError(absl::StrCat("another agent of this user has port ", port));
  }
  return absl::UnavailableError(
      absl::StrCat("cannot lock ", WorkFolder::UserFolder(base), "/ports: ", std::strerror(errno)));
}

}  // namespace muster::agent
