// libpmix listens on a TCP port of the loopback device, and believes any client that claims to be one of the ranks. So
// this file replaces its accept(): it lets a connection in only if the other end is a socket of this user.
//
// what the kernel reports as the other end                    result
//
// a connected socket of this user, with an inode              let in
// a socket of another user, or without inode (closed)         refused
// no such socket (another machine), or no answer              refused
//
// The kernel is asked for this one socket (sock_diag). If it does not answer, this file reads the table of all sockets,
// which takes milliseconds on a large machine.
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

namespace muster::pmix {
namespace {

struct Ends {
  sockaddr_storage here{};
  sockaddr_storage there{};
};

struct Found {
  unsigned state = 0;
  unsigned user = 0;
  unsigned long inode = 0;
};

// Formats an address as in /proc/net/tcp and tcp6; empty: neither IPv4 nor IPv6.
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

// Returns the connection's id as the other end has it.
inet_diag_sockid IdOf(const Ends& ends) {
  inet_diag_sockid id{};
  if (ends.here.ss_family == AF_INET) {
    const auto& here = reinterpret_cast<const sockaddr_in&>(ends.here);
    const auto& there = reinterpret_cast<const sockaddr_in&>(ends.there);
    std::memcpy(id.idiag_src, &there.sin_addr, sizeof there.sin_addr);
    std::memcpy(id.idiag_dst, &here.sin_addr, sizeof here.sin_addr);
    id.idiag_sport = there.sin_port;
    id.idiag_dport = here.sin_port;
  } else {
    const auto& here = reinterpret_cast<const sockaddr_in6&>(ends.here);
    const auto& there = reinterpret_cast<const sockaddr_in6&>(ends.there);
    std::memcpy(id.idiag_src, &there.sin6_addr, sizeof there.sin6_addr);
    std::memcpy(id.idiag_dst, &here.sin6_addr, sizeof here.sin6_addr);
    id.idiag_sport = there.sin6_port;
    id.idiag_dport = here.sin6_port;
  }
  id.idiag_cookie[0] = id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  return id;
}

// Returns nothing if this kernel does not answer, or knows no such socket.
std::optional<Found> AskKernel(const Ends& ends) {
  struct {
    nlmsghdr head{};
    inet_diag_req_v2 body{};
  } request;
  request.head.nlmsg_len = sizeof request;
  request.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.head.nlmsg_flags = NLM_F_REQUEST;
  request.body.sdiag_family = static_cast<uint8_t>(ends.here.ss_family);
  request.body.sdiag_protocol = IPPROTO_TCP;
  request.body.idiag_states = ~uint32_t{0};
  request.body.id = IdOf(ends);
  struct {
    nlmsghdr head{};
    inet_diag_msg body{};
    char attributes[4096] = {};
  } answer;
  const int kernel = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (kernel < 0) return std::nullopt;
  // The answer is there when send() returns.
  const bool is_sent = send(kernel, &request, sizeof request, 0) == ssize_t{sizeof request};
  const ssize_t size = is_sent ? recv(kernel, &answer, sizeof answer, MSG_DONTWAIT) : -1;
  close(kernel);
  if (size < static_cast<ssize_t>(sizeof answer.head + sizeof answer.body)) return std::nullopt;
  if (answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY) return std::nullopt;
  return Found{answer.body.idiag_state, answer.body.idiag_uid, answer.body.idiag_inode};
}

std::optional<Found> ReadTable(const Ends& ends) {
  const std::string wanted = ProcText(ends.there) + " " + ProcText(ends.here) + " ";  // as the other end's row has them
  std::ifstream rows(ends.here.ss_family == AF_INET ? "/proc/self/net/tcp" : "/proc/self/net/tcp6");
  for (std::string row; std::getline(rows, row);) {
    const size_t at = row.find(wanted);
    if (at == std::string::npos) continue;
    Found found;
    const char* rest = row.c_str() + at + wanted.size();
    if (std::sscanf(rest, "%X %*s %*s %*s %u %*s %lu", &found.state, &found.user, &found.inode) == 3) return found;
    return std::nullopt;
  }
  return std::nullopt;
}

bool IsOtherEndOwn(int connection) {
  Ends ends;
  socklen_t here_size = sizeof ends.here;
  socklen_t there_size = sizeof ends.there;
  if (getsockname(connection, reinterpret_cast<sockaddr*>(&ends.here), &here_size) != 0 ||
      getpeername(connection, reinterpret_cast<sockaddr*>(&ends.there), &there_size) != 0) {
    return false;
  }
  if (ends.here.ss_family != AF_INET && ends.here.ss_family != AF_INET6) return false;
  std::optional<Found> found = AskKernel(ends);
  if (!found) found = ReadTable(ends);
  return found && found->state == TCP_ESTABLISHED && found->user == geteuid() && found->inode != 0;
}

// Closes the connection and puts a socket in its place from which the reader reads an end of file.
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

// The linker takes this accept() before libc's. It returns a connection even for a refused client, because libpmix
// would stop listening after an error.
extern "C" __attribute__((visibility("default"))) int accept(int listener, sockaddr* address, socklen_t* size) {
  const int connection = static_cast<int>(syscall(SYS_accept4, listener, address, size, 0));
  if (connection < 0 || muster::pmix::IsOtherEndOwn(connection)) return connection;
  static bool was_logged = false;
  if (!std::exchange(was_logged, true))
    std::fprintf(stderr, "ms-pmix: refused a connection that does not come from a rank\n");
  if (muster::pmix::PutAnEndedOneInPlaceOf(connection)) return connection;
  close(connection);
  errno = ECONNABORTED;
  return -1;
}
