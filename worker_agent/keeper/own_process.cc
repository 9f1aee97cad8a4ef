#include "worker_agent/keeper/own_process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "common/unique_fd.h"
#include "worker_agent/keeper/process_title.h"

namespace muster::agent {
namespace {

void CloseRange(int first, int last) {
  if (first > last || ::close_range(static_cast<unsigned>(first), static_cast<unsigned>(last), 0) == 0) return;
  for (int fd = first; fd <= std::min(last, 65535); ++fd) ::close(fd);  // kernels before 5.9
}

void CloseAllBut(std::vector<int> kept) {
  std::sort(kept.begin(), kept.end());
  int first = 3;
  for (int fd : kept) {
    if (fd < 3) continue;
    CloseRange(first, fd - 1);
    first = std::max(first, fd + 1);
  }
  CloseRange(first, std::numeric_limits<int>::max());
}

// A stream that the agent was started without must not become a pipe's number by chance.
void OpenMissingStandardStreams() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", O_RDWR);
  }
}

}  // namespace

void BecomeOwnProcess(const char* name, std::vector<int> kept) {
  ::setsid();
  ::prctl(PR_SET_NAME, name);
  SetProcessTitle(name);
  OpenMissingStandardStreams();
  CloseAllBut(std::move(kept));
}

void LeaveStandardStreams() {
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int fd = 0; fd <= 2 && null.is_open(); ++fd) ::dup2(null.get(), fd);
}

}  // namespace muster::agent
