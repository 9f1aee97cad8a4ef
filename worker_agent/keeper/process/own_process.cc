#include "worker_agent/keeper/process/own_process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <limits>
#include <sstream>
#include <string>

#include "common/base/unique_fd.h"
#include "common/sys/file_io.h"

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

// Opens /dev/null for each standard stream with which the agent was not started. Otherwise a pipe could get its number.
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

void AdoptOrphans() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::signal(SIGCHLD, SIG_DFL);  // an ignored SIGCHLD would reap the children before this process sees them
}

void SetProcessTitle(std::string_view title) {
  const std::string text = ReadSmallFile("/proc/self/stat", 4096).value_or("");
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return;
  std::istringstream fields(text.substr(name_end + 1));
  std::string word;
  uintptr_t begin = 0;
  uintptr_t end = 0;
  // proc(5): fields 48 and 49 are the addresses where the arguments begin and end. The first field in `fields` is
  // number 3.
  for (int field = 3; field <= 49 && fields >> word; ++field) {
    if (field == 48) begin = static_cast<uintptr_t>(std::stoull(word));
    if (field == 49) end = static_cast<uintptr_t>(std::stoull(word));
  }
  if (begin == 0 || end <= begin + 1) return;
  // The last byte stays 0; otherwise the kernel would show the environment as well.
  const size_t room = end - begin - 1;
  const size_t length = std::min(title.size(), room);
  char* const arguments = reinterpret_cast<char*>(begin);  // NOLINT(performance-no-int-to-ptr): from the kernel
  std::memset(arguments, 0, room + 1);
  std::memcpy(arguments, title.data(), length);
}

}  // namespace muster::agent
