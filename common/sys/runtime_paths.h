// Paths: where a program of ours finds another one of the same user and machine, and what a user means by a path.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"

namespace muster {

// The Unix socket of the scheduler that listens on `port`, for ms-ctl's changing calls:
// /run/muster/scheduler-<port>.sock for root (a service has no XDG_RUNTIME_DIR, root's shell may have one: both must
// find the same socket), else $XDG_RUNTIME_DIR/muster/…, else (also where that is too long for a socket's path)
// /tmp/muster-<uid>/…. The folder is made by the scheduler, mode 0700; a folder that somebody else owns or can write
// to is refused there, and by ms-ctl (common/sys/folder_trust.h).
std::string DefaultAdminSocket(uint16_t port);

// Where this user's programs keep what outlives them: $STATE_DIRECTORY (systemd's, for a service), else
// $XDG_STATE_HOME/muster, else /var/lib/muster for root and ~/.local/state/muster for others. Empty: there is none.
std::string UserStateFolder(const std::map<std::string, std::string>& environment, bool is_root);

// A path that a setting names, where no shell has read it: ~ and ~/x become the user's own home folder (HOME, else the
// system's list of users), ~name and ~name/x that of the user `name`. Other paths stay as they are.
absl::StatusOr<std::string> ExpandHome(const std::string& path, const std::map<std::string, std::string>& environment);

// The same, and from the root on: for a path that is handed to another process, which may stand in another folder.
// Empty stays empty.
absl::StatusOr<std::string> AbsolutePath(const std::string& path,
                                         const std::map<std::string, std::string>& environment);

}  // namespace muster
