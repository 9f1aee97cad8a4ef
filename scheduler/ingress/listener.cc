#include "scheduler/ingress/listener.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/sys/folder_trust.h"
#include "common/sys/private_folder.h"
#include "scheduler/ingress/port_holder.h"

namespace muster::scheduler {
namespace {

// Connections that may wait until they are accepted, such as when all agents of a large cluster join at once.
// The kernel lowers it to net.core.somaxconn.
constexpr int kBacklog = 65535;
constexpr int kPortTries = 20;

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

SocketAddress ToSocketAddress(const IpAddress& address, uint16_t port) {
  SocketAddress result;
  if (address.is_v6()) {
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&result.storage);
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    std::memcpy(&v6->sin6_addr, address.bytes().data(), 16);
    result.length = sizeof(sockaddr_in6);
  } else {
    auto* v4 = reinterpret_cast<sockaddr_in*>(&result.storage);
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    std::memcpy(&v4->sin_addr, address.bytes().data(), 4);
    result.length = sizeof(sockaddr_in);
  }
  return result;
}

uint16_t BoundPort(int fd) {
  sockaddr_storage storage{};
  socklen_t length = sizeof(storage);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return 0;
  return ntohs(storage.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&storage)->sin6_port
                                             : reinterpret_cast<sockaddr_in*>(&storage)->sin_port);
}

absl::Status BindError(int error, const std::string& name, uint16_t port) {
  if (error == EADDRINUSE) {
    const std::string holder = DescribePortHolder(port);
    return absl::AlreadyExistsError(absl::StrCat(
        "port ", port, holder.empty() ? " is in use" : absl::StrCat(" is held by ", holder),
        ": stop that one, or choose another port with --sched_port (MS_SCHED_PORT) here and for the agents"));
  }
  if (error == EACCES) {
    return absl::PermissionDeniedError(
        absl::StrCat("may not listen on ", name, ": ports below 1024 need root; choose another with --sched_port"));
  }
  return absl::UnavailableError(absl::StrCat("can't listen on ", name, ": ", std::strerror(error)));
}

UniqueFd OpenSocket(const IpAddress& address, bool is_dual_stack, int type) {
  UniqueFd fd(socket(address.is_v6() ? AF_INET6 : AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int v6_only = is_dual_stack ? 0 : 1;
  if (fd.is_open() && address.is_v6()) setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &v6_only, sizeof(v6_only));
  return fd;
}

absl::StatusOr<Listener> Listen(const IpAddress& address, bool is_dual_stack, uint16_t port) {
  const std::string name = JoinHostPort(address.ToString(), port);
  UniqueFd fd = OpenSocket(address, is_dual_stack, SOCK_STREAM);
  if (!fd.is_open()) return BindError(errno, name, port);
  const int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const SocketAddress bound = ToSocketAddress(address, port);
  if (bind(fd.get(), bound.get(), bound.length) != 0 || listen(fd.get(), kBacklog) != 0) {
    return BindError(errno, name, port);
  }
  const uint16_t real_port = BoundPort(fd.get());
  return Listener{std::move(fd), JoinHostPort(address.ToString(), real_port), real_port, false};
}

absl::StatusOr<std::vector<Listener>> ListenOnAll(uint16_t port) {
  absl::StatusOr<Listener> listener = Listen(*IpAddress::Parse("::"), true, port);
  // On a kernel without IPv6, opening the socket or binding it to "::" fails. Then use IPv4 only.
  if (absl::IsUnavailable(listener.status())) listener = Listen(*IpAddress::Parse("0.0.0.0"), false, port);
  if (!listener.ok()) return listener.status();
  std::vector<Listener> listeners;
  listeners.push_back(*std::move(listener));
  return listeners;
}

absl::StatusOr<std::vector<Listener>> ListenOnEach(const std::vector<IpAddress>& addresses, uint16_t port) {
  std::vector<Listener> listeners;
  for (const IpAddress& address : addresses) {
    const uint16_t wanted = listeners.empty() ? port : listeners.front().port;
    absl::StatusOr<Listener> listener = Listen(address, false, wanted);
    if (!listener.ok()) return listener.status();
    listeners.push_back(*std::move(listener));
  }
  return listeners;
}

absl::StatusOr<UniqueFd> OpenDatagramSocket(const IpAddress& address, bool is_dual_stack, uint16_t port) {
  UniqueFd fd = OpenSocket(address, is_dual_stack, SOCK_DGRAM);
  const int on = 1;
  const SocketAddress bound = ToSocketAddress(address, port);
  // A machine may have several addresses, and an answer must come from the one to which the datagram was sent. So let
  // the kernel report that address.
  const auto report_addresses = [&] {
    return address.is_v6() ? setsockopt(fd.get(), IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof(on))
                           : setsockopt(fd.get(), IPPROTO_IP, IP_PKTINFO, &on, sizeof(on));
  };
  if (!fd.is_open() || report_addresses() != 0 || bind(fd.get(), bound.get(), bound.length) != 0) {
    return absl::UnavailableError(
        absl::StrCat("can't take datagrams on ", JoinHostPort(address.ToString(), port), ": ", std::strerror(errno)));
  }
  return fd;
}

absl::Status PrepareFolder(const std::filesystem::path& folder, const std::string& path) {
  // As root, trust each folder of the path first: a user who can replace one of them could make root create or remove
  // files elsewhere.
  std::error_code error;  // if there is no current directory, the path is empty, and the check below refuses it
  const auto way = OpenFolder(std::filesystem::absolute(folder, error).parent_path().string(), {FolderTrust::kTrusted});
  if (geteuid() == 0 && !way.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("can't listen on ", path, ": ", way.status().message(),
                     ". Name a socket in a folder of this user with --admin_socket, here and for ms-ctl"));
  }
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return absl::FailedPreconditionError(
        absl::StrCat("can't make the folder ", folder.string(), ": ", std::strerror(errno)));
  }
  // Refuse a folder that other users can change. ms-ctl does not trust a socket there either.
  const auto doubt = DoubtFolder(folder, {geteuid(), std::nullopt, /*takes_sticky=*/true});
  if (!doubt) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "can't listen on ", path, ": ", doubt->why, ". ",
      doubt->remedy.empty() ? "Name a socket in a folder of this user with --admin_socket, here and for ms-ctl"
                            : doubt->remedy));
}

// Removes the socket file of a scheduler that has ended. ALREADY_EXISTS: a process listens on it.
absl::Status ClearPath(const std::string& path, const sockaddr_un& address) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return absl::OkStatus();
  if (!S_ISSOCK(info.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(path, " exists and is no socket"));
  }
  // Don't block: EAGAIN means that the queue of the listening process is full. The process hangs, but it exists.
  const UniqueFd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 || errno == EAGAIN) {
    return absl::AlreadyExistsError(absl::StrCat("another scheduler answers at ", path));
  }
  if (errno != ECONNREFUSED || unlink(path.c_str()) != 0) {
    return absl::FailedPreconditionError(absl::StrCat("can't replace ", path, ": ", std::strerror(errno)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Listener>> OpenTcpListeners(const BindPlan& plan, uint16_t port) {
  if (plan.addresses.empty()) return ListenOnAll(port);
  absl::StatusOr<std::vector<Listener>> listeners = ListenOnEach(plan.addresses, port);
  // With port 0, the kernel chooses a port for the first address, which may be in use on the second. Then try another.
  for (int tries = 1; port == 0 && absl::IsAlreadyExists(listeners.status()) && tries < kPortTries; ++tries) {
    listeners = ListenOnEach(plan.addresses, port);
  }
  return listeners;
}

absl::StatusOr<std::vector<UniqueFd>> OpenDatagramSockets(const BindPlan& plan, uint16_t port) {
  std::vector<UniqueFd> sockets;
  const auto add = [&](absl::StatusOr<UniqueFd> socket) {
    if (!socket.ok()) return socket.status();
    sockets.push_back(*std::move(socket));
    return absl::OkStatus();
  };
  if (plan.addresses.empty()) {
    if (add(OpenDatagramSocket(*IpAddress::Parse("::"), true, port)).ok()) return sockets;
    if (absl::Status status = add(OpenDatagramSocket(*IpAddress::Parse("0.0.0.0"), false, port)); !status.ok()) {
      return status;
    }
  }
  for (const IpAddress& address : plan.addresses) {
    if (absl::Status status = add(OpenDatagramSocket(address, false, port)); !status.ok()) return status;
  }
  return sockets;
}

absl::StatusOr<Listener> OpenUnixListener(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return absl::FailedPreconditionError(absl::StrCat("the socket's path ", path, " is longer than ",
                                                      sizeof(address.sun_path) - 1,
                                                      " bytes: set a shorter one with --admin_socket"));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (absl::Status status = PrepareFolder(folder.empty() ? "." : folder, path); !status.ok()) return status;
  if (absl::Status status = ClearPath(path, address); !status.ok()) return status;

  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  // bind() creates the file with the mode that the socket has now. So other users can't connect at any moment.
  if (!fd.is_open() || fchmod(fd.get(), 0600) != 0 ||
      bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      listen(fd.get(), kBacklog) != 0) {
    return absl::FailedPreconditionError(absl::StrCat("can't listen on ", path, ": ", std::strerror(errno)));
  }
  return Listener{std::move(fd), path, 0, true};
}

void RemoveSocket(const std::string& path) {
  struct stat info {};
  if (lstat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode)) unlink(path.c_str());
}

}  // namespace muster::scheduler
