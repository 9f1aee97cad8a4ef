// A thread where there may be none: the limits on processes (ulimit -u, pids.max) count threads, also those of the
// training processes, and std::thread's exception would end the program.
#pragma once

#include <system_error>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace muster {

// RESOURCE_EXHAUSTED, with what to do, if the system has none.
template <typename Work>
absl::StatusOr<std::thread> TryThread(Work&& work) {
  try {
    return std::thread(std::forward<Work>(work));
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no thread can be made (", error.what(), "): raise ulimit -u, or the control group's pids.max"));
  }
}

}  // namespace muster
