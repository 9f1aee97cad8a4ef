#include "ctl/admin_socket.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "absl/strings/str_cat.h"

namespace muster::ctl {
namespace {

absl::Status NotTrusted(const AdminSocket& socket, const std::string& why, const std::string& remedy) {
  return absl::UnauthenticatedError(
      absl::StrCat("the socket ", socket.path, " is not trusted to be the scheduler's: ", why, ". ", remedy));
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
        absl::StrCat("there is no scheduler's socket at ", socket.path, ": what is there is no socket"));
  }
  std::filesystem::path folder = std::filesystem::path(socket.path).parent_path();
  if (folder.empty()) folder = ".";
  struct stat around {};
  if (lstat(folder.c_str(), &around) != 0 || !S_ISDIR(around.st_mode)) {
    return NotTrusted(socket, absl::StrCat(folder.string(), " is a symbolic link, and whose it is can't be told"),
                      "Name the socket by its real path with --admin_socket (MS_ADMIN_SOCKET)");
  }
  const auto is_ours = [self](uid_t owner) { return owner == self || owner == 0; };
  const bool is_of_another = !is_ours(file.st_uid);
  if (is_of_another && !socket.is_named) {
    return NotTrusted(socket, absl::StrCat("it belongs to another user (uid ", file.st_uid, ")"),
                      "If the scheduler runs as that user, name its socket with --admin_socket (MS_ADMIN_SOCKET), or "
                      "run this as that user");
  }
  if (!is_ours(around.st_uid) && !(is_of_another && around.st_uid == file.st_uid)) {
    return NotTrusted(
        socket, absl::StrCat("its folder ", folder.string(), " belongs to another user (uid ", around.st_uid, ")"),
        "Let the scheduler make its socket in a folder of its own user, with --admin_socket there and here");
  }
  const bool can_others_write = (around.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  const bool is_sticky = (around.st_mode & S_ISVTX) != 0;
  if (can_others_write && (is_of_another || !is_sticky)) {
    return NotTrusted(socket, absl::StrCat("others can write to its folder ", folder.string()),
                      is_sticky ? "Run this as the scheduler's user, or give the scheduler a folder of its own with "
                                  "--admin_socket"
                                : absl::StrCat("If all that is in it is yours: chmod go-w ", folder.string()));
  }
  return absl::OkStatus();
}

}  // namespace muster::ctl
