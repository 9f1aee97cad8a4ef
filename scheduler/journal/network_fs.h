// Which file systems a journal may not lie on: those whose locks and syncs reach over a network can't be trusted with
// either.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace muster::scheduler {

// The name of a network file system by statfs's f_type (linux/magic.h and the file systems' own sources); empty for any
// other, also for FUSE, whose kind the type does not tell.
std::string NetworkFileSystemOf(uint64_t magic);

// The same by the type that /proc/self/mountinfo gives the mount of `device`: "fuse.glusterfs", "nfs4", ….
std::string NetworkFileSystemIn(absl::string_view mountinfo, dev_t device);

// Asks the system about an existing folder; empty when it is local or can't be asked.
std::string NetworkFileSystemUnder(const std::string& folder);

}  // namespace muster::scheduler
