// The findings, checked in this order:
//
//   there is nothing, or no folder   kNoFolder
//   a symbolic link                  kLink      the link's owner chose the folder, and that owner is not checked
//   another user's folder            kForeign   its owner can do everything in it
//   group or others can write        kWritable  they can rename and remove what is in it
//   the same, with sticky bit        kSticky    they can only add to it; no finding if the rule allows that
#include "common/sys/folder_trust.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace muster {

std::optional<FolderDoubt> DoubtFolder(const std::string& folder, const FolderRule& rule) {
  using Kind = FolderDoubt::Kind;
  struct stat info {};
  if (lstat(folder.c_str(), &info) != 0) {
    return FolderDoubt{Kind::kNoFolder, absl::StrCat("its folder ", folder, ": ", std::strerror(errno)), ""};
  }
  if (S_ISLNK(info.st_mode)) {
    return FolderDoubt{Kind::kLink,
                       absl::StrCat("its folder ", folder, " is a symbolic link, and the link's owner is not checked"),
                       ""};
  }
  if (!S_ISDIR(info.st_mode)) return FolderDoubt{Kind::kNoFolder, absl::StrCat(folder, " is no folder"), ""};
  if (info.st_uid != rule.self && info.st_uid != 0 && info.st_uid != rule.other) {
    return FolderDoubt{Kind::kForeign,
                       absl::StrCat("its folder ", folder, " belongs to another user (uid ", info.st_uid, ")"), ""};
  }
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) == 0) return std::nullopt;
  const bool is_sticky = (info.st_mode & S_ISVTX) != 0;
  if (is_sticky && rule.takes_sticky) return std::nullopt;
  return FolderDoubt{is_sticky ? Kind::kSticky : Kind::kWritable,
                     absl::StrCat("others can write to its folder ", folder),
                     is_sticky ? "" : absl::StrCat("If all that is in it is yours: chmod go-w ", folder)};
}

}  // namespace muster
