// Recognises file systems that must not hold a journal: network file systems. Their locks and syncs can't be trusted.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace muster::scheduler {

// Returns a network file system's name by statfs's f_type (linux/magic.h and the file systems' own sources). Empty for
// any other, also for FUSE, where the type does not show the kind.
std::string NetworkFileSystemOf(uint64_t magic);

// Does the same by the type of `device`'s mount in /proc/self/mountinfo: "fuse.glusterfs", "nfs4", ….
std::string NetworkFileSystemIn(absl::string_view mountinfo, dev_t device);

// Asks the system about an existing folder; empty if it is local or the system does not answer.
std::string NetworkFileSystemUnder(const std::string& folder);

}  // namespace muster::scheduler
