#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "common/sys/folder_trust.h"
#include "ctl/admin_client.h"

namespace muster::ctl {
namespace {

absl::Status NotTrusted(const AdminSocket& socket, const std::string& why, const std::string& remedy) {
  return absl::UnauthenticatedError(
      absl::StrCat("the socket ", socket.path, " is not trusted to be the scheduler's: ", why, ". ", remedy));
}

std::string RemedyOf(const FolderDoubt& doubt) {
  switch (doubt.kind) {
    case FolderDoubt::Kind::kNoFolder:
    case FolderDoubt::Kind::kLink:
      return "Name the socket by its real path with --admin_socket (MS_ADMIN_SOCKET)";
    case FolderDoubt::Kind::kForeign:
      return "Let the scheduler make its socket in a folder of its own user, with --admin_socket there and here";
    case FolderDoubt::Kind::kSticky:
      return "Run this as the scheduler's user, or give the scheduler a folder of its own with --admin_socket";
    case FolderDoubt::Kind::kWritable:
      break;
  }
  return doubt.remedy;
}

}  // namespace

absl::Status CheckSocket(const AdminSocket& socket, uid_t self) {
  struct stat file {};
  if (lstat(socket.path.c_str(), &file) != 0) {
    return absl::UnavailableError(
        absl::StrCat("there is no scheduler's socket at ", socket.path, " (", std::strerror(errno), ")"));
  }
  if (!S_ISSOCK(file.st_mode)) {
    return absl::UnavailableError(
        absl::StrCat("there is no scheduler's socket at ", socket.path, ": this file is not a socket"));
  }
  std::filesystem::path folder = std::filesystem::path(socket.path).parent_path();
  if (folder.empty()) folder = ".";
  const auto is_ours = [self](uid_t owner) { return owner == self || owner == 0; };
  const bool is_of_another = !is_ours(file.st_uid);
  if (is_of_another && !socket.is_named) {
    return NotTrusted(socket, absl::StrCat("it belongs to another user (uid ", file.st_uid, ")"),
                      "If the scheduler runs as that user, name its socket with --admin_socket (MS_ADMIN_SOCKET), or "
                      "run this as that user");
  }
  FolderRule rule{self, std::nullopt, /*takes_sticky=*/!is_of_another};
  if (is_of_another) rule.other = file.st_uid;
  if (const auto doubt = DoubtFolder(folder, rule)) return NotTrusted(socket, doubt->why, RemedyOf(*doubt));
  return absl::OkStatus();
}

}  // namespace muster::ctl
