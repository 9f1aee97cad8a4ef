#include "ring/sockets.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/base/text.h"

namespace muster::ring {
namespace {

constexpr int kBacklog = 512;
constexpr int kUnsentBytes = 128 * 1024;

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

SocketAddress ToSocketAddress(const IpAddress& address, uint16_t port) {
  SocketAddress out;
  if (address.is_v6()) {
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&out.storage);
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    std::memcpy(&v6->sin6_addr, address.bytes().data(), sizeof(v6->sin6_addr));
    out.size = sizeof(*v6);
  } else {
    auto* v4 = reinterpret_cast<sockaddr_in*>(&out.storage);
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    std::memcpy(&v4->sin_addr, address.bytes().data(), sizeof(v4->sin_addr));
    out.size = sizeof(*v4);
  }
  return out;
}

std::optional<IpAddress> FromSocketAddress(const sockaddr_storage& storage) {
  if (storage.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(storage);
    const auto address = IpAddress::FromBytes(std::string(reinterpret_cast<const char*>(&v6.sin6_addr), 16));
    return address ? IpAddress::Parse(address->ToString()) : std::nullopt;  // a mapped IPv4 address becomes IPv4
  }
  const auto& v4 = reinterpret_cast<const sockaddr_in&>(storage);
  return IpAddress::FromBytes(std::string(reinterpret_cast<const char*>(&v4.sin_addr), 4));
}

UniqueFd NewSocket(int family) { return UniqueFd(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

}  // namespace

UniqueFd StartConnecting(const IpAddress& address, uint16_t port, int* error) {
  UniqueFd fd = NewSocket(address.is_v6() ? AF_INET6 : AF_INET);
  const SocketAddress target = ToSocketAddress(address, port);
  if (fd.is_open() && (connect(fd.get(), reinterpret_cast<const sockaddr*>(&target.storage), target.size) == 0 ||
                       errno == EINPROGRESS)) {
    return fd;
  }
  *error = errno;
  return UniqueFd();
}

absl::StatusOr<UniqueFd> ListenOn(uint16_t port) {
  int error = 0;
  for (const char* any : {"::", "0.0.0.0"}) {
    const IpAddress address = *IpAddress::Parse(any);
    UniqueFd fd = NewSocket(address.is_v6() ? AF_INET6 : AF_INET);
    if (!fd.is_open()) {
      error = errno;
      continue;
    }
    const int on = 1;
    const int off = 0;
    setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (address.is_v6()) setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    const SocketAddress own = ToSocketAddress(address, port);
    if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&own.storage), own.size) == 0 &&
        listen(fd.get(), kBacklog) == 0) {
      return fd;
    }
    error = errno;
    if (error == EADDRINUSE || error == EACCES) break;
  }
  return absl::UnavailableError(absl::StrCat("the ring's port ", port, " can't be listened on: ", std::strerror(error),
                                             error == EADDRINUSE ? "; another process of this rank still runs, or "
                                                                   "another program took the port"
                                                                 : ""));
}

UniqueFd AcceptOne(int listener, std::optional<IpAddress>* from) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  UniqueFd fd(accept4(listener, reinterpret_cast<sockaddr*>(&storage), &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (fd.is_open()) *from = FromSocketAddress(storage);
  return fd;
}

void TuneSocket(int fd) {
  const int on = 1;
  const int unsent = kUnsentBytes;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
}

std::string HelloDifference(const Hello& found, const Hello& wanted) {
  if (found.version != wanted.version) {
    return absl::StrCat("it speaks version ", found.version, " of this check, this rank speaks ", wanted.version);
  }
  if (found.job_id != wanted.job_id || found.run != wanted.run || found.round != wanted.round) {
    return absl::StrCat("it is of job ", Quoted(found.job_id), ", run ", found.run, ", round ", found.round,
                        "; this one is of ", Quoted(wanted.job_id), ", run ", wanted.run, ", round ", wanted.round);
  }
  if (found.size != wanted.size) return absl::StrCat("it counts ", found.size, " ranks, here there are ", wanted.size);
  if (found.from != wanted.from || found.to != wanted.to) {
    return absl::StrCat("it is for the link from rank ", found.from, " to ", found.to);
  }
  if (found.bytes != wanted.bytes) {
    return absl::StrCat("it checks with ", found.bytes, " bytes, this rank with ", wanted.bytes,
                        ": --bytes must be equal");
  }
  return absl::StrCat("its slow factor is ", found.slow_factor, ", this rank's is ", wanted.slow_factor,
                      ": --slow_factor (MS_RING_SLOW_FACTOR) must be equal on every node");
}

}  // namespace muster::ring
