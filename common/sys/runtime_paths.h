// Paths through which programs of one user on one machine find each other, and the expansion of a user's path.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"

namespace muster {

// Returns the path of the Unix socket for ms-ctl's changing calls to the scheduler that listens on `port`.
//
// For root it is /run/muster/scheduler-<port>.sock: a service has no XDG_RUNTIME_DIR and root's shell may have one, but
// both must find the same socket. For other users it is $XDG_RUNTIME_DIR/muster/…, or /tmp/muster-<uid>/… if that
// variable is not set or too long for a socket's path. The scheduler creates the folder with mode 0700. Scheduler and
// ms-ctl refuse a folder that other users own or can write to (common/sys/folder_trust.h).
std::string DefaultAdminSocket(uint16_t port);

// Returns the ports for which this user has a file where DefaultAdminSocket would be, with or without XDG_RUNTIME_DIR;
// at most kMaxSocketsFound, sorted, each with its path. The scheduler may have ended without removing its socket.
std::map<uint16_t, std::string> FindAdminSockets();
inline constexpr size_t kMaxSocketsFound = 256;

// Returns the folder for this user's state that must survive a program's end. The first of these that is set:
// $STATE_DIRECTORY (systemd sets it for a service), $XDG_STATE_HOME/muster, /var/lib/muster for root,
// ~/.local/state/muster for others. Empty: there is none.
std::string UserStateFolder(const std::map<std::string, std::string>& environment, bool is_root);

// Expands the ~ in a path that no shell has expanded. ~ and ~/x mean the user's own home folder (HOME, or from the
// system's list of users); ~name and ~name/x mean that of the user `name`. Returns other paths unchanged.
absl::StatusOr<std::string> ExpandHome(const std::string& path, const std::map<std::string, std::string>& environment);

// The same, and makes the path absolute, for another process that may run in another folder. An empty path stays empty.
absl::StatusOr<std::string> AbsolutePath(const std::string& path,
                                         const std::map<std::string, std::string>& environment);

}  // namespace muster
