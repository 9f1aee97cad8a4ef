#include "worker_agent/launch/port_lock.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/private_folder.h"
#include "worker_agent/launch/work_folder.h"

namespace muster::agent {
namespace {

constexpr off_t kPorts = 65536;
constexpr off_t kNamespaces = off_t{1} << 40;  // their numbers have 32 bits

}  // namespace

absl::StatusOr<UniqueFd> LockPort(const std::string& base, uint16_t port, PortUse use) {
  const absl::StatusOr<UniqueFd> folder = WorkFolder::OpenUserFolder(base);
  if (!folder.ok()) return folder.status();
  absl::StatusOr<UniqueFd> file = OpenOwnFile(*folder, WorkFolder::UserFolder(base), "ports", O_RDWR | O_CREAT, 0600);
  if (!file.ok()) return file.status();
  struct stat space {};
  if (stat("/proc/self/ns/net", &space) != 0) space.st_ino = 0;  // then all of this user's count as one
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
