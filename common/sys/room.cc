// Which limit says no to a thread or a process (clone fails with EAGAIN for each of them):
//
//   pids.max of a control group     this process's, or one above it: the first one that is full
//   RLIMIT_NPROC (ulimit -u)        counts all tasks of the user; not for root
//   kernel.threads-max, pid_max     of the machine
//
// A full control group can be seen. The others can't without counting all tasks of the machine: they are listed.
#include "common/sys/room.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/unique_fd.h"
#include "common/sys/file_io.h"

namespace muster {

namespace {

constexpr size_t kStackBytes = 64 << 10;  // of a thread that only waits
constexpr int kLookPauseMs = 1;
constexpr int kMostLooks = 1000;

std::optional<uint64_t> ReadNumber(const std::string& path) {
  uint64_t number = 0;
  if (!absl::SimpleAtoi(ReadSmallFile(path, 4096).value_or(""), &number)) return std::nullopt;  // "max" is no number
  return number;
}

// "/job/step" and the folder under which such paths stand.
struct ControlGroup {
  std::string root;
  std::string path;
};

std::vector<ControlGroup> OwnControlGroups() {
  std::vector<ControlGroup> groups;
  for (absl::string_view line : absl::StrSplit(ReadSmallFile("/proc/self/cgroup", 1 << 20).value_or(""), '\n')) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));  // number:controllers:path
    if (parts.size() != 3) continue;
    if (parts[1].empty()) groups.push_back({"/sys/fs/cgroup", parts[2]});
    if (parts[1] == "pids") groups.push_back({"/sys/fs/cgroup/pids", parts[2]});
  }
  return groups;
}

// Empty: none is.
std::string FullControlGroup() {
  for (ControlGroup group : OwnControlGroups()) {
    while (true) {
      const std::optional<uint64_t> most = ReadNumber(absl::StrCat(group.root, group.path, "/pids.max"));
      const std::optional<uint64_t> now = ReadNumber(absl::StrCat(group.root, group.path, "/pids.current"));
      if (most && now && *now >= *most) {
        return absl::StrCat("pids.max of the control group ", group.path, " is ", *most, ", and ", *now,
                            " processes and threads are there: raise it");
      }
      const size_t slash = group.path.rfind('/');
      if (group.path.size() <= 1 || slash == std::string::npos) break;
      group.path.resize(std::max<size_t>(slash, 1));
    }
  }
  return "";
}

void* WaitForUnlock(void* mutex) {
  const std::lock_guard<std::mutex> lock(*static_cast<std::mutex*>(mutex));
  return nullptr;
}

absl::Status CheckTasks(size_t wanted) {
  const size_t before = CountThreads();
  std::mutex mutex;
  mutex.lock();
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  std::vector<pthread_t> threads;
  absl::Status status;
  while (threads.size() < wanted && status.ok()) {
    pthread_t thread;
    if (const int error = pthread_create(&thread, &attributes, WaitForUnlock, &mutex); error != 0) {
      status = absl::ResourceExhaustedError(absl::StrCat("this program needs ", wanted,
                                                         " more threads and processes, and can have ", threads.size(),
                                                         " (", std::strerror(error), ")", TaskLimitInWords()));
    } else {
      threads.push_back(thread);
    }
  }
  pthread_attr_destroy(&attributes);
  mutex.unlock();
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  // A thread that was joined still counts for a moment.
  for (int i = 0; i < kMostLooks && CountThreads() > before; ++i) poll(nullptr, 0, kLookPauseMs);
  return status;
}

absl::Status CheckDescriptors(size_t wanted) {
  std::vector<UniqueFd> tried;
  while (tried.size() < wanted) {
    UniqueFd fd(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
    if (!fd.is_open() && errno == EBADF) fd.reset(open("/", O_PATH | O_CLOEXEC));  // without a stdin
    if (!fd.is_open()) {
      rlimit limit{};
      getrlimit(RLIMIT_NOFILE, &limit);
      return absl::ResourceExhaustedError(
          absl::StrCat("this program needs ", wanted, " more file descriptors, and can have ", tried.size(), " (",
                       std::strerror(errno), "): RLIMIT_NOFILE (ulimit -n) is ", limit.rlim_cur, ": raise it"));
    }
    tried.push_back(std::move(fd));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckRoom(const Room& wanted) {
  if (absl::Status status = CheckDescriptors(wanted.descriptors); !status.ok()) return status;
  return CheckTasks(wanted.tasks);
}

std::string TaskLimitInWords() {
  if (const std::string group = FullControlGroup(); !group.empty()) return absl::StrCat(": ", group);
  rlimit limit{};
  getrlimit(RLIMIT_NPROC, &limit);
  const auto number = [](std::optional<uint64_t> value) { return value ? absl::StrCat(*value) : "unknown"; };
  return absl::StrCat(": one of the limits is reached, raise it: RLIMIT_NPROC (ulimit -u) is ",
                      limit.rlim_cur == RLIM_INFINITY ? "unlimited" : absl::StrCat(limit.rlim_cur),
                      ", kernel.threads-max ", number(ReadNumber("/proc/sys/kernel/threads-max")), ", kernel.pid_max ",
                      number(ReadNumber("/proc/sys/kernel/pid_max")),
                      "; pids.max of a control group that can't be seen here counts, too");
}

size_t CountThreads() {
  DIR* folder = opendir("/proc/self/task");
  if (folder == nullptr) return 0;
  size_t threads = 0;
  while (const dirent* entry = readdir(folder)) threads += entry->d_name[0] != '.' ? 1 : 0;
  closedir(folder);
  return threads;
}

size_t CountThreadsNamed(std::string_view name) {
  DIR* folder = opendir("/proc/self/task");
  if (folder == nullptr) return 0;
  size_t threads = 0;
  while (const dirent* entry = readdir(folder)) {
    const auto comm = ReadSmallFile(absl::StrCat("/proc/self/task/", entry->d_name, "/comm"), 4096);
    threads += comm.ok() && *comm == std::string(name) + "\n" ? 1 : 0;
  }
  closedir(folder);
  return threads;
}

namespace {

// Where the kernel knows no limit, this many are still the most that anybody can mean.
constexpr rlim_t kEnough = 1'048'576;
constexpr rlim_t kUsual = 1024;  // where the kernel does not tell

}  // namespace

rlimit RaiseDescriptorLimit() {
  rlimit before{kUsual, kUsual};
  if (getrlimit(RLIMIT_NOFILE, &before) != 0) return before;
  const rlimit raised{std::max(before.rlim_cur, std::min(before.rlim_max, kEnough)), before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &raised);
  return before;
}

size_t DescriptorLimit() {
  rlimit limit{kUsual, kUsual};
  getrlimit(RLIMIT_NOFILE, &limit);
  return std::min(limit.rlim_cur, kEnough);
}

}  // namespace muster
