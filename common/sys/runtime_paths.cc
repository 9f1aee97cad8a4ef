#include "common/sys/runtime_paths.h"

#include <pwd.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/text.h"

namespace muster {

namespace {

constexpr absl::string_view kSocketPrefix = "scheduler-";
constexpr absl::string_view kSocketSuffix = ".sock";

// Returns the folders that may have this user's sockets, the preferred one first.
std::vector<std::string> SocketFolders() {
  if (geteuid() == 0) return {"/run/muster"};
  std::vector<std::string> folders;
  const char* folder = std::getenv("XDG_RUNTIME_DIR");
  if (folder != nullptr && folder[0] == '/') folders.push_back(absl::StrCat(folder, "/muster"));
  folders.push_back(absl::StrCat("/tmp/muster-", geteuid()));
  return folders;
}

}  // namespace

std::string DefaultAdminSocket(uint16_t port) {
  for (const std::string& folder : SocketFolders()) {
    std::string path = absl::StrCat(folder, "/", kSocketPrefix, port, kSocketSuffix);
    if (path.size() < sizeof(sockaddr_un::sun_path) || folder == SocketFolders().back()) return path;
  }
  return "";
}

std::map<uint16_t, std::string> FindAdminSockets() {
  std::map<uint16_t, std::string> found;
  for (const std::string& folder : SocketFolders()) {
    std::error_code error;  // no folder: no socket
    for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
      const std::string file = it->path().filename().string();
      absl::string_view name = file;
      uint32_t port = 0;
      if (!absl::ConsumePrefix(&name, kSocketPrefix) || !absl::ConsumeSuffix(&name, kSocketSuffix)) continue;
      if (!absl::SimpleAtoi(name, &port) || port > UINT16_MAX || found.size() >= kMaxSocketsFound) continue;
      found.emplace(static_cast<uint16_t>(port), it->path().string());
    }
  }
  return found;
}

std::string UserStateFolder(const std::map<std::string, std::string>& environment, bool is_root) {
  // A relative path is ignored, because its meaning would change with the working folder.
  const auto folder_of = [&](const std::string& name) -> std::string {
    const auto found = environment.find(name);
    if (found == environment.end()) return "";
    const std::string first = found->second.substr(0, found->second.find(':'));  // systemd may list several folders
    return !first.empty() && first[0] == '/' ? first : "";
  };
  if (std::string folder = folder_of("STATE_DIRECTORY"); !folder.empty()) return folder;
  if (const std::string folder = folder_of("XDG_STATE_HOME"); !folder.empty()) return folder + "/muster";
  if (is_root) return "/var/lib/muster";
  const std::string home = folder_of("HOME");
  return home.empty() ? "" : home + "/.local/state/muster";
}

namespace {

constexpr size_t kUserBytes = 16 * 1024;  // the longest entry of a user in the system's list

// Returns the home folder of `user`, or of the user that runs this program if `user` is empty. Returns an empty text if
// the system's list has no such user, or no home folder for it.
std::string HomeInList(const std::string& user) {
  std::vector<char> bytes(kUserBytes);
  passwd entry{};
  passwd* found = nullptr;
  const int error = user.empty() ? getpwuid_r(geteuid(), &entry, bytes.data(), bytes.size(), &found)
                                 : getpwnam_r(user.c_str(), &entry, bytes.data(), bytes.size(), &found);
  return error != 0 || found == nullptr || found->pw_dir == nullptr ? "" : found->pw_dir;
}

}  // namespace

absl::StatusOr<std::string> ExpandHome(const std::string& path, const std::map<std::string, std::string>& environment) {
  if (!absl::StartsWith(path, "~")) return path;
  const std::string user = path.substr(1, path.find('/') - 1);
  const std::string rest = path.substr(1 + user.size());
  std::string home;
  if (const auto own = environment.find("HOME"); user.empty() && own != environment.end()) home = own->second;
  if (home.empty()) home = HomeInList(user);
  if (absl::StartsWith(home, "/")) return absl::StrCat(home == "/" && !rest.empty() ? "" : home, rest);
  const std::string what = user.empty() ? "HOME is not set to a folder, and this user has no home folder"
                                        : absl::StrCat("there is no user ", Quoted(user), " with a home folder");
  return absl::InvalidArgumentError(
      absl::StrCat("begins with ~: ", what, "; write the whole path (a name that begins with ~ is written ./~NAME)"));
}

absl::StatusOr<std::string> AbsolutePath(const std::string& path,
                                         const std::map<std::string, std::string>& environment) {
  absl::StatusOr<std::string> expanded = ExpandHome(path, environment);
  if (!expanded.ok() || expanded->empty() || expanded->front() == '/') return expanded;
  char* const folder = getcwd(nullptr, 0);
  if (folder == nullptr || folder[0] != '/') {  // "(unreachable)/…": the folder lies outside of this process's root
    const std::string why = folder == nullptr ? std::strerror(errno) : folder;
    std::free(folder);
    return absl::UnavailableError(
        absl::StrCat("is relative, and the current folder is not known (", why, "); write the whole path"));
  }
  while (absl::StartsWith(*expanded, "./")) expanded->erase(0, expanded->find_first_not_of('/', 1));
  std::string whole = absl::StrCat(folder, std::strcmp(folder, "/") == 0 ? "" : "/", *expanded);
  std::free(folder);
  return whole;
}

}  // namespace muster
