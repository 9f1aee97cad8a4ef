// Whose a folder is: who could have put there what is in it, or could put something else in its place.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <optional>
#include <string>

namespace muster {

struct FolderRule {
  uid_t self = geteuid();
  std::optional<uid_t> other;  // whose folder it may be besides `self` and root
  // Others may add to it, as they may to /tmp, since they can take nothing of ours away. Only for a file whose name
  // alone says nothing.
  bool takes_sticky = false;
};

struct FolderDoubt {
  enum class Kind { kNoFolder, kLink, kForeign, kWritable, kSticky };
  Kind kind = Kind::kNoFolder;
  std::string why;     // "its folder /x belongs to another user (uid 7)"
  std::string remedy;  // a sentence; empty: the caller knows better
};

// Nothing: `folder` (its last part is no symbolic link) belongs to `self`, root or `other`, and nobody else can write
// to it. Looks at the folder alone: what is above it is up to who made it.
std::optional<FolderDoubt> DoubtFolder(const std::string& folder, const FolderRule& rule);

}  // namespace muster
