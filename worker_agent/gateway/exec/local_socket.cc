#include "worker_agent/gateway/exec/local_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace muster::exec {
namespace {

constexpr int kBacklog = 128;

absl::Status Failed(const std::string& path) {
  return absl::UnavailableError(absl::StrCat(path, ": ", std::strerror(errno)));
}

// Creates a socket and calls `act` with it and the address of `path`. The address names the folder by a descriptor, so
// that it is short.
absl::StatusOr<UniqueFd> With(const std::string& path, int flags,
                              int (*act)(int socket, const sockaddr_un& to, socklen_t size)) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return absl::InvalidArgumentError(absl::StrCat(path, " is no absolute path"));
  const UniqueFd folder(::open(path.substr(0, slash).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open()) return Failed(path);
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  const std::string way = absl::StrCat("/proc/self/fd/", folder.get(), path.substr(slash));
  if (way.size() >= sizeof(to.sun_path)) return absl::InvalidArgumentError(absl::StrCat(path, ": too long"));
  way.copy(to.sun_path, sizeof(to.sun_path) - 1);
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
  if (!socket.is_open() || act(socket.get(), to, sizeof(to)) != 0) return Failed(path);
  return socket;
}

}  // namespace

absl::StatusOr<UniqueFd> ListenLocally(const std::string& path) {
  ::unlink(path.c_str());
  return With(path, SOCK_NONBLOCK, [](int socket, const sockaddr_un& to, socklen_t size) {
    if (::bind(socket, reinterpret_cast<const sockaddr*>(&to), size) != 0) return -1;
    return ::listen(socket, kBacklog);
  });
}

absl::StatusOr<UniqueFd> ConnectLocally(const std::string& path) {
  return With(path, 0, [](int socket, const sockaddr_un& to, socklen_t size) {
    return ::connect(socket, reinterpret_cast<const sockaddr*>(&to), size);
  });
}

}  // namespace muster::exec
