#include "worker_agent/diagnostics/regular_file.h"

#include <fcntl.h>

namespace muster::agent {

UniqueFd OpenRegularFile(const std::string& path, struct stat& info) {
  // A device's mere opening may do something: so first what it is, then open it, then whether it still is.
  if (lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return UniqueFd();
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC));
  if (!fd.is_open() || fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return UniqueFd();
  return fd;
}

}  // namespace muster::agent
