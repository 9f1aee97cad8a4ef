// libpmix listens on a TCP port of the loopback device, where it believes whoever says that he is one of the ranks. So
// its accept() is this one: a connection whose other end is not a socket of this user's is not let in.
//
// /proc/net/tcp has for the other end                        it is
//
// a row, connected, of this user's and with an inode         let in
// a row of another user's, or of nobody's (closed already)   a stranger's
// no row: of another machine, or it can't be looked at       a stranger's
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>

namespace muster::pmix {
namespace {

// As /proc/net/tcp and tcp6 write it; empty: neither IPv4 nor IPv6.
std::string ProcText(const sockaddr_storage& address) {
  uint32_t words[4] = {};
  int count = 0;
  uint16_t port = 0;
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    std::memcpy(words, &v4.sin_addr, sizeof v4.sin_addr);
    port = v4.sin_port;
    count = 1;
  } else if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    std::memcpy(words, &v6.sin6_addr, sizeof v6.sin6_addr);
    port = v6.sin6_port;
    count = 4;
  }
  std::string text;
  char digits[16];
  for (int i = 0; i < count; ++i) {
    std::snprintf(digits, sizeof digits, "%08X", words[i]);
    text += digits;
  }
  std::snprintf(digits, sizeof digits, ":%04X", ntohs(port));
  return count == 0 ? "" : text + digits;
}

bool IsOwn(int connection) {
  constexpr unsigned kConnected = 1;
  sockaddr_storage here{};
  sockaddr_storage there{};
  socklen_t here_size = sizeof here;
  socklen_t there_size = sizeof there;
  if (getsockname(connection, reinterpret_cast<sockaddr*>(&here), &here_size) != 0 ||
      getpeername(connection, reinterpret_cast<sockaddr*>(&there), &there_size) != 0) {
    return false;
  }
  const std::string wanted = ProcText(there) + " " + ProcText(here) + " ";  // as the other end has them
  std::ifstream rows(here.ss_family == AF_INET ? "/proc/self/net/tcp" : "/proc/self/net/tcp6");
  for (std::string row; std::getline(rows, row);) {
    const size_t found = row.find(wanted);
    if (found == std::string::npos) continue;
    unsigned state = 0;
    unsigned user = 0;
    unsigned long inode = 0;
    const char* rest = row.c_str() + found + wanted.size();
    return std::sscanf(rest, "%X %*s %*s %*s %u %*s %lu", &state, &user, &inode) == 3 && state == kConnected &&
           user == geteuid() && inode != 0;
  }
  return false;
}

// What is read from it is its end. Of the connection there is nothing left.
bool PutAnEndedOneInPlaceOf(int connection) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return false;
  const bool is_put = dup2(pair[0], connection) == connection;
  close(pair[0]);
  close(pair[1]);
  return is_put;
}

}  // namespace
}  // namespace muster::pmix

// Found by libpmix before libc's. It gets a connection in any case, for it would stop listening without.
extern "C" __attribute__((visibility("default"))) int accept(int listener, sockaddr* address, socklen_t* size) {
  const int connection = static_cast<int>(syscall(SYS_accept4, listener, address, size, 0));
  if (connection < 0 || muster::pmix::IsOwn(connection)) return connection;
  static bool was_told = false;
  if (!std::exchange(was_told, true)) std::fprintf(stderr, "ms-pmix: a connection that is not of a rank was refused\n");
  if (muster::pmix::PutAnEndedOneInPlaceOf(connection)) return connection;
  close(connection);
  errno = ECONNABORTED;
  return -1;
}
