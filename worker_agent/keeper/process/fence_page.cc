#include "worker_agent/keeper/process/fence_page.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace muster::agent {

absl::StatusOr<FencePage*> FencePage::Create(absl::Duration stop_time) {
  void* memory = ::mmap(nullptr, sizeof(FencePage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return absl::ResourceExhaustedError(absl::StrCat("can't start the keeper: mmap: ", std::strerror(errno)));
  }
  return new (memory) FencePage(stop_time);
}

}  // namespace muster::agent
