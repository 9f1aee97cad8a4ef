// Checks the owner of a folder: who could have put its content there, or could replace it.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <optional>
#include <string>

namespace muster {

struct FolderRule {
  uid_t self = geteuid();
  std::optional<uid_t> other;  // the allowed owner besides `self` and root
  // Others may add to the folder, as in /tmp, since they can take nothing of ours away. Only for a file with a name
  // that means nothing by itself.
  bool takes_sticky = false;
};

struct FolderDoubt {
  enum class Kind { kNoFolder, kLink, kForeign, kWritable, kSticky };
  Kind kind = Kind::kNoFolder;
  std::string why;     // "its folder /x belongs to another user (uid 7)"
  std::string remedy;  // a sentence; empty if the caller knows better
};

// Returns nullopt if `folder` (its last part is no symbolic link) belongs to `self`, root or `other`, and no one else
// can write to it. Checks this folder only: the folders above it are its maker's business.
std::optional<FolderDoubt> DoubtFolder(const std::string& folder, const FolderRule& rule);

}  // namespace muster
