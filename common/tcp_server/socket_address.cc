#include "common/tcp_server/socket_address.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/os_error.h"

namespace muster {
namespace {

SocketAddress FromKernel(const sockaddr_storage& from) {
  SocketAddress result;
  std::string bytes;
  if (from.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(from);
    bytes.assign(reinterpret_cast<const char*>(&v4.sin_addr), sizeof(v4.sin_addr));
    result.port = ntohs(v4.sin_port);
  } else {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(from);
    // An IPv4 client of a socket that serves both families.
    const bool is_mapped = IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr);
    bytes.assign(reinterpret_cast<const char*>(&v6.sin6_addr) + (is_mapped ? 12 : 0), is_mapped ? 4 : 16);
    result.port = ntohs(v6.sin6_port);
  }
  if (const auto address = IpAddress::FromBytes(bytes)) result.address = *address;
  return result;
}

socklen_t ToKernel(const IpAddress& address, uint16_t port, sockaddr_storage& to) {
  to = {};
  if (address.is_v6()) {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(to);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    std::memcpy(&v6.sin6_addr, address.bytes().data(), sizeof(v6.sin6_addr));
    return sizeof(v6);
  }
  auto& v4 = reinterpret_cast<sockaddr_in&>(to);
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  std::memcpy(&v4.sin_addr, address.bytes().data(), sizeof(v4.sin_addr));
  return sizeof(v4);
}

}  // namespace

absl::StatusOr<UniqueFd> ListenOn(const IpAddress& address, uint16_t port, int backlog, const std::string& for_whom) {
  UniqueFd fd(socket(address.is_v6() ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int one = 1;
  sockaddr_storage to{};
  const socklen_t size = ToKernel(address, port, to);
  if (address.is_v6() && address.is_any()) {
    const int off = 0;
    setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));  // the socket accepts IPv4, too
  }
  if (!fd.is_open() || setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) != 0 ||
      bind(fd.get(), reinterpret_cast<const sockaddr*>(&to), size) != 0 || listen(fd.get(), backlog) != 0) {
    const int error = errno;
    return OsError(error == EADDRINUSE ? absl::StatusCode::kAlreadyExists : absl::StatusCode::kUnavailable,
                   absl::StrCat("can't listen on ", JoinHostPort(address.ToString(), port), " for ", for_whom), error);
  }
  return fd;
}

UniqueFd AcceptFrom(int listener, SocketAddress& from) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  UniqueFd fd(accept4(listener, reinterpret_cast<sockaddr*>(&storage), &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (fd.is_open()) {
    from = FromKernel(storage);
    const int one = 1;
    setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  }
  return fd;
}

UniqueFd StartConnecting(const SocketAddress& to) {
  UniqueFd fd(socket(to.address.is_v6() ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_storage storage{};
  const socklen_t size = ToKernel(to.address, to.port, storage);
  const int one = 1;
  if (fd.is_open() && setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) == 0 &&
      (connect(fd.get(), reinterpret_cast<const sockaddr*>(&storage), size) == 0 || errno == EINPROGRESS)) {
    return fd;
  }
  return UniqueFd();
}

absl::StatusOr<SocketAddress> LocalEnd(int socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&storage), &size) != 0) {
    return absl::UnavailableError(absl::StrCat("a socket without an address: ", std::strerror(errno)));
  }
  return FromKernel(storage);
}

}  // namespace muster
