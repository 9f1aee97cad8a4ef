#include "common/runtime_paths.h"

#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace muster {

std::string DefaultAdminSocket(uint16_t port) {
  const std::string name = absl::StrCat("/scheduler-", port, ".sock");
  if (geteuid() == 0) return absl::StrCat("/run/muster", name);
  if (const char* folder = std::getenv("XDG_RUNTIME_DIR"); folder != nullptr && folder[0] == '/') {
    std::string path = absl::StrCat(folder, "/muster", name);
    if (path.size() < sizeof(sockaddr_un::sun_path)) return path;
  }
  return absl::StrCat("/tmp/muster-", geteuid(), name);
}

}  // namespace muster
