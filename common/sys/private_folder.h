// Opens folders and files in places where other users may write.
//
// A program that trusts a file, or writes to a file as root, must know which users could have made it. These functions
// go through a path folder by folder, from / or from the current folder, and keep each folder open as a descriptor. So
// no one can replace a folder between its check and its use. An error names the folder, its owner and what to do. The
// caller adds the setting with which the user can name another folder.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <string>

#include "absl/status/statusor.h"
#include "common/base/unique_fd.h"

namespace muster {

enum class FolderTrust {
  // Others may write there. Only one rule: a symbolic link of another user may lead only to a folder of the same user.
  kShared,
  // The folder and all folders on the way belong to this user or to root. Others may write there, as in a container's
  // volume that is open to all.
  kOwned,
  // As kOwned, and no one else may write to any of them, unless it is sticky, as /tmp is. Every symbolic link on the
  // way belongs to this user or to root. In a sticky folder, a file's owner must be checked, too: see OpenOwnFile.
  kTrusted,
  // As kTrusted, and the last folder belongs to this user and is no symbolic link. If others may write to it, that
  // permission is removed.
  kPrivate,
};

struct FolderOptions {
  FolderTrust trust = FolderTrust::kPrivate;
  bool makes_missing = false;  // makes missing folders with mode 0700; for kShared with the mode that the umask leaves
  uid_t self = geteuid();
};

// Returns the folder as an O_PATH descriptor, which works with fstat, openat, mkdirat, renameat and unlinkat. An empty
// path means the current folder. A group's write permission counts as others', unless the group is the user's own (with
// the same name and number, and no other members).
//
// kNotFound: there is no such folder. kPermissionDenied: a rule is broken. kUnavailable: an error of the system.
absl::StatusOr<UniqueFd> OpenFolder(const std::string& path, const FolderOptions& options = {});

struct PathParts {
  std::string folder;  // ends with a slash; empty: the current folder
  std::string name;
};
PathParts SplitPath(const std::string& path);

// Opens a file with a path that this program has composed. The file must be regular and have only one name; it may have
// any owner. `flags` are as for open. Follows no link at the end of the path, and does not wait for a pipe. On the way,
// follows another user's links as with kShared. Errors as for OpenFolder; kFailedPrecondition: it is no such file.
absl::StatusOr<UniqueFd> OpenPlainFile(const std::string& path, int flags, mode_t mode = 0);

// Opens a file of our own: regular, owned by `self`, with only one name, not writable by others. `flags` are as for
// open. Follows no link, and does not wait for a pipe. `folder_path` is for messages. Errors as for OpenFolder;
// kFailedPrecondition: it is no such file.
absl::StatusOr<UniqueFd> OpenOwnFile(const UniqueFd& folder, const std::string& folder_path, const std::string& name,
                                     int flags, mode_t mode, uid_t self = geteuid());

// Opens a file to append to it, and creates it (mode 0644) if it is missing. Its folder must exist. If other users
// control the folder (it is not kTrusted), refuses a symbolic link, a pipe, and a file with a second name. Otherwise
// takes everything that opens without waiting. Errors as for OpenFolder.
absl::StatusOr<UniqueFd> OpenToAppend(const std::string& path);

}  // namespace muster
