// A bare TCP or Unix client for tests.
#pragma once

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <string>

#include "common/base/unique_fd.h"

namespace muster::scheduler {

inline UniqueFd ConnectTcp(uint16_t port, int family = AF_INET) {
  UniqueFd fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  v6.sin6_addr = in6addr_loopback;
  const bool is_v6 = family == AF_INET6;
  const auto* address = is_v6 ? reinterpret_cast<sockaddr*>(&v6) : reinterpret_cast<sockaddr*>(&v4);
  if (connect(fd.get(), address, is_v6 ? sizeof(v6) : sizeof(v4)) != 0) fd.reset();
  return fd;
}

inline UniqueFd ConnectUnix(const std::string& path) {
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) fd.reset();
  return fd;
}

// True if the other end closes (or resets) within the time; drops what it sends.
inline bool AwaitHangUp(const UniqueFd& fd, int timeout_ms = 20'000) {
  while (true) {
    pollfd watched{fd.get(), POLLIN, 0};
    if (poll(&watched, 1, timeout_ms) <= 0) return false;
    char buffer[4096];
    if (recv(fd.get(), buffer, sizeof(buffer), 0) <= 0) return true;
  }
}

inline bool SendBytes(const UniqueFd& fd, const std::string& bytes) {
  return send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

}  // namespace muster::scheduler
