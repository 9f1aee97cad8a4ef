// Recognises network file systems. A journal must not be on one, because their locks and syncs can't be trusted.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace muster::scheduler {

// Returns the name of the network file system with this number in statfs's f_type (the numbers are from linux/magic.h
// and the file systems' own sources). Empty: it is not known as a network file system. That includes FUSE: all FUSE
// file systems have the same number.
std::string NetworkFileSystemOf(uint64_t magic);

// Returns the type of the mount of `device`, if that is a network file system's, such as "fuse.glusterfs" or "nfs4";
// otherwise empty. `mountinfo` is the text of /proc/self/mountinfo.
std::string NetworkFileSystemIn(absl::string_view mountinfo, dev_t device);

// Returns the name of the network file system that an existing folder is on. Empty: the folder is on a local file
// system, or the kernel returned an error.
std::string NetworkFileSystemUnder(const std::string& folder);

}  // namespace muster::scheduler
