// Opens folders and files that others could have put there.
//
// A program that decides by a file, or writes to one as root, must know who could have made it. A path is walked folder
// by folder from / (or the current folder) on, each held by its descriptor, so that no one can change one between the
// check and its use. A refusal names the folder, its owner and what to do; the caller adds the setting that names
// another folder.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <string>

#include "absl/status/statusor.h"
#include "common/base/unique_fd.h"

namespace muster {

enum class FolderTrust {
  // Others may write there. The only rule: a symbolic link of another user leads only to a folder of that same user.
  kShared,
  // It and every folder on the way belong to this user or to root. Others may write there, as in a container's volume
  // that is open to all.
  kOwned,
  // It and every folder on the way belong to this user or to root. No one else may write there, or it is sticky, as
  // /tmp is. Every symbolic link on the way belongs to this user or to root. In a sticky folder, check a file's owner:
  // see OpenOwnFile.
  kTrusted,
  // As kTrusted, and the last folder belongs to this user and is no symbolic link. If others may write to it, that
  // permission is removed.
  kPrivate,
};

struct FolderOptions {
  FolderTrust trust = FolderTrust::kPrivate;
  bool makes_missing = false;  // with mode 0700; with kShared by the umask
  uid_t self = geteuid();
};

// Returns the folder as an O_PATH descriptor: good for fstat, openat, mkdirat, renameat and unlinkat. An empty path is
// the current folder. Group's write permission counts as others' unless the group is the user's own (of the same name
// and number, with no other members).
//
// kNotFound: there is none. kPermissionDenied: it is refused. kUnavailable: the system's error.
absl::StatusOr<UniqueFd> OpenFolder(const std::string& path, const FolderOptions& options = {});

struct PathParts {
  std::string folder;  // with the slash at its end, or empty: the current one
  std::string name;
};
PathParts SplitPath(const std::string& path);

// Opens a file at a path that we composed ourselves: regular, under one name, of any owner. `flags` as for open;
// follows no link in the last place, waits for no pipe. For another user's link on the way, see kShared. The same
// errors; kFailedPrecondition: it is no such file.
absl::StatusOr<UniqueFd> OpenPlainFile(const std::string& path, int flags, mode_t mode = 0);

// Opens a file of our own: regular, owned by `self`, under one name, not writable by others. `flags` as for open;
// follows no link, waits for no pipe. `folder_path` is for messages. The same errors; kFailedPrecondition: it is no
// such file.
absl::StatusOr<UniqueFd> OpenOwnFile(const UniqueFd& folder, const std::string& folder_path, const std::string& name,
                                     int flags, mode_t mode, uid_t self = geteuid());

// Opens a file to append to, and makes it (0644) if it is missing; its folder must be there. If other users control the
// folder (it is not kTrusted), refuses a symbolic link, a pipe, and a file with another name; otherwise takes
// everything that opens without waiting. The same errors.
absl::StatusOr<UniqueFd> OpenToAppend(const std::string& path);

}  // namespace muster
