// Opens a file that a training process may have put there as whatever it liked.
#pragma once

#include <sys/stat.h>

#include <string>

#include "common/base/unique_fd.h"

namespace muster::agent {

// For reading, if it is a regular file that may be read; `info` tells of it. Never blocks, follows no link in the last
// place, opens no device.
UniqueFd OpenRegularFile(const std::string& path, struct stat& info);

}  // namespace muster::agent
