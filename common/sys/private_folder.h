// Folders and files that others could have put there.
//
// Who decides by a file, or writes to one as root, must know who could have made it. A path is walked folder by folder
// from / (or the present folder) on, each held by its descriptor, so that nobody can change one between the look at it
// and its use. What is refused is told with the folder, its owner and what to do; the caller adds the setting that
// names another folder.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <string>

#include "absl/status/statusor.h"
#include "common/base/unique_fd.h"

namespace muster {

enum class FolderTrust {
  // Others may write there. Only that a symbolic link of another user leads nowhere but to a folder of that same user.
  kShared,
  // It and every folder on the way belong to this user or to root; others may write there, as in a container's volume
  // that is open to all.
  kOwned,
  // It and every folder on the way belong to this user or to root, and nobody else may write there, or it is sticky, as
  // /tmp is; every symbolic link on the way belongs to this user or to root. What others put into a sticky folder is
  // told apart by its owner: see OpenOwnFile.
  kTrusted,
  // kTrusted, and the last one belongs to this user and is no symbolic link. It is closed to others' writing if need
  // be.
  kPrivate,
};

struct FolderOptions {
  FolderTrust trust = FolderTrust::kPrivate;
  bool makes_missing = false;  // with mode 0700; with kShared as the umask has it
  uid_t self = geteuid();
};

// The folder, by an O_PATH descriptor: good for fstat, openat, mkdirat, renameat and unlinkat. An empty path is the
// present folder. Group's write permission counts as others' unless the group is the user's own (of the same name and
// number, with no other members).
//
// kNotFound: there is none. kPermissionDenied: it is refused. kUnavailable: the system's error.
absl::StatusOr<UniqueFd> OpenFolder(const std::string& path, const FolderOptions& options = {});

struct PathParts {
  std::string folder;  // with the slash at its end, or empty: the present one
  std::string name;
};
PathParts SplitPath(const std::string& path);

// A file at a path that we composed ourselves: regular, under one name, whoever owns it. `flags` as for open; follows
// no link in the last place, waits for no pipe. Where another user's link is on the way, see kShared. The same errors;
// kFailedPrecondition: it is no such file.
absl::StatusOr<UniqueFd> OpenPlainFile(const std::string& path, int flags, mode_t mode = 0);

// A file of our own: regular, owned by `self`, under one name, not writable by others. `flags` as for open; follows no
// link, waits for no pipe. `folder_path` is for messages. The same errors; kFailedPrecondition: it is no such file.
absl::StatusOr<UniqueFd> OpenOwnFile(const UniqueFd& folder, const std::string& folder_path, const std::string& name,
                                     int flags, mode_t mode, uid_t self = geteuid());

// A file to append to, made (0644) if it is missing; its folder must be there. Where somebody else has a say in the
// folder (it is not kTrusted) no symbolic link, pipe, or file with another name is taken; where nobody has, whatever
// can be opened without waiting is. The same errors.
absl::StatusOr<UniqueFd> OpenToAppend(const std::string& path);

}  // namespace muster
