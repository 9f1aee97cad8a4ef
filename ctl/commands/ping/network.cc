#include "ctl/commands/ping/network.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/base/unique_fd.h"
#include "common/net/net.h"
#include "common/sys/wait.h"

namespace muster::ctl {
namespace {

constexpr absl::Duration kRefusalTime = absl::Milliseconds(300);  // how long to wait for a refusal

}  // namespace

int ErrorOfConnecting(const IpAddress& address, uint16_t port, absl::Duration timeout) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.ToString().c_str(), absl::StrCat(port).c_str(), &hints, &found) != 0) return EADDRNOTAVAIL;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, freeaddrinfo);
  const UniqueFd fd(::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.is_open()) return errno;
  if (::connect(fd.get(), found->ai_addr, found->ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd waiting{fd.get(), POLLOUT, 0};
  const int ready = ::poll(&waiting, 1, PollMs(timeout));
  if (ready <= 0) return ready == 0 ? ETIMEDOUT : errno;
  int error = 0;
  socklen_t size = sizeof(error);
  return ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

int ErrorOfDatagrams(const IpAddress& address, uint16_t port) {
  const UniqueFd fd = OpenDatagramsTowards(address, port);
  int error = fd.is_open() && ::send(fd.get(), "", 0, 0) == 0 ? 0 : errno;
  if (error == 0 && WaitFor(fd.get(), POLLIN, kRefusalTime) != 0) {
    socklen_t size = sizeof(error);
    if (::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  }
  return error;
}

std::string RemedyOf(int error) {
  switch (error) {
    case ECONNREFUSED:
      return "nothing listens there: start ms-scheduler, or name its port with --sched_port (MS_SCHED_PORT)";
    case ETIMEDOUT:
      return "the machine is down, or a firewall drops packets to this port";
    case EHOSTUNREACH:
    case ENETUNREACH:
      return "this machine has no route there, or a firewall refuses: try another of the scheduler's addresses";
    default:
      return "look at this machine's network";
  }
}

}  // namespace muster::ctl
