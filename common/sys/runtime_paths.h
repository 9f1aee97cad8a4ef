// Paths: how programs of the same user and machine find each other, and how a user's path is expanded.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"

namespace muster {

// Returns the Unix socket of the scheduler that listens on `port`, for ms-ctl's changing calls. For root it is
// /run/muster/scheduler-<port>.sock (a service has no XDG_RUNTIME_DIR, root's shell may have one: both must find the
// same socket). Otherwise it is $XDG_RUNTIME_DIR/muster/…, or if that is unset or too long for a socket's path,
// /tmp/muster-<uid>/…. The scheduler makes the folder with mode 0700; it and ms-ctl refuse a folder that others own or
// can write to (common/sys/folder_trust.h).
std::string DefaultAdminSocket(uint16_t port);

// Returns the folder for state that outlives this user's programs: $STATE_DIRECTORY (systemd's, for a service), else
// $XDG_STATE_HOME/muster, else /var/lib/muster for root and ~/.local/state/muster for others. Empty: there is none.
std::string UserStateFolder(const std::map<std::string, std::string>& environment, bool is_root);

// Expands a path from a setting that no shell has read: ~ and ~/x become the user's own home folder (HOME, else the
// system's list of users), ~name and ~name/x that of the user `name`. Other paths stay as they are.
absl::StatusOr<std::string> ExpandHome(const std::string& path, const std::map<std::string, std::string>& environment);

// The same, made absolute: for a path that is handed to another process, which may be in another folder. Empty stays
// empty.
absl::StatusOr<std::string> AbsolutePath(const std::string& path,
                                         const std::map<std::string, std::string>& environment);

}  // namespace muster
