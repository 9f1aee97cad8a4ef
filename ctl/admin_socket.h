// Whether a scheduler's Unix socket may be trusted. A socket has no certificate: who can put one at its path can answer
// for the scheduler, so the owner of the socket and of its folder is all that tells whose it is.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <string>

#include "absl/status/status.h"

namespace muster::ctl {

struct AdminSocket {
  std::string path;
  // The user gave the path (--admin_socket, MS_ADMIN_SOCKET); else it follows from the port and the user, and everybody
  // knows it.
  bool is_named = false;
};

// OK: nobody but `self`, root and, where it is named, the socket's own owner can have put it there. So the socket and
// its folder (no symbolic link) are owned by `self` or root, and the folder is writable by its owner alone, or sticky
// as /tmp is. A named socket may be another user's, as root says it to a service: then nobody but that user or root may
// be able to write to the folder, sticky or not.
//
// kUnavailable: there is no socket. kUnauthenticated: there is one that can't be trusted; the message says why, and
// what to do.
absl::Status CheckSocket(const AdminSocket& socket, uid_t self = geteuid());

}  // namespace muster::ctl
