#pragma once

#include "common/unique_fd.h"

namespace muster::agent {

using muster::UniqueFd;

}  // namespace muster::agent
