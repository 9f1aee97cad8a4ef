#include "common/sys/runtime_paths.h"

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

std::string UserStateFolder(const std::map<std::string, std::string>& environment, bool is_root) {
  // Only an absolute path counts: a relative one would be another one after each change of the folder.
  const auto folder_of = [&](const std::string& name) -> std::string {
    const auto found = environment.find(name);
    if (found == environment.end()) return "";
    const std::string first = found->second.substr(0, found->second.find(':'));  // systemd may name several
    return !first.empty() && first[0] == '/' ? first : "";
  };
  if (std::string folder = folder_of("STATE_DIRECTORY"); !folder.empty()) return folder;
  if (const std::string folder = folder_of("XDG_STATE_HOME"); !folder.empty()) return folder + "/muster";
  if (is_root) return "/var/lib/muster";
  const std::string home = folder_of("HOME");
  return home.empty() ? "" : home + "/.local/state/muster";
}

}  // namespace muster
