// Checks a folder's owner and permissions: could another user have put its content there, or replace it?
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <optional>
#include <string>

namespace muster {

struct FolderRule {
  uid_t self = geteuid();
  std::optional<uid_t> other;  // an owner that is allowed besides `self` and root
  // Accepts a sticky folder such as /tmp, where others may add files, but can't remove ours. Set it only if the file
  // itself is checked, too: another user may have created a file with its name.
  bool takes_sticky = false;
};

struct FolderDoubt {
  enum class Kind { kNoFolder, kLink, kForeign, kWritable, kSticky };
  Kind kind = Kind::kNoFolder;
  std::string why;     // "its folder /x belongs to another user (uid 7)"
  std::string remedy;  // a sentence; empty if the caller knows a better remedy
};

// Returns nullopt if `folder` is not a symbolic link, belongs to `self`, root or `other`, and no one else can write to
// it. Checks only this folder, because its owner is responsible for the folders above it.
std::optional<FolderDoubt> DoubtFolder(const std::string& folder, const FolderRule& rule);

}  // namespace muster
