// libpmix listens on a TCP port of the loopback device, where it believes whoever says that he is one of the ranks. So
// its accept() is this one: a connection whose other end is not a socket of this user's is not let in.
//
// the kernel has for the other end                           it is
//
// a socket, connected, of this user's and with an inode      let in
// one of another user's, or of nobody's (closed already)     a stranger's
// none: of another machine, or it can't be looked at         a stranger's
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "worker_agent/gateway/mpi/pmix/socket_owner.h"

namespace muster::pmix {
namespace {

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
  if (connection < 0 || muster::pmix::IsOtherEndOwn(connection)) return connection;
  static bool was_told = false;
  if (!std::exchange(was_told, true)) std::fprintf(stderr, "ms-pmix: a connection that is not of a rank was refused\n");
  if (muster::pmix::PutAnEndedOneInPlaceOf(connection)) return connection;
  close(connection);
  errno = ECONNABORTED;
  return -1;
}
