// The limits that can prevent a thread or a process. For each of them clone fails with EAGAIN or ENOMEM, so the errno
// does not show which one it is. The first row that applies is reported:
//
//   pids.max of a control group     of this process's group or one above it: the first one that is full
//   RLIMIT_AS (ulimit -v)           no more addresses can be mapped, and a thread's stack needs some
//   RLIMIT_DATA (ulimit -d)         addresses can be mapped, but no more memory to write to
//   memory overcommit               as in the two rows above, but the limit of that row is not set
//   RLIMIT_NPROC (ulimit -u)        counts all tasks of the user; does not apply to root
//   kernel.threads-max, pid_max     of the machine
//
// Tasks in other pid namespaces can't be counted. So if no limit seems to be reached, all limits are listed.
#include "common/sys/room.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
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
#include "common/sys/wait.h"

namespace muster {

namespace {

constexpr size_t kStackBytes = 64 << 10;  // enough for a thread that only waits
constexpr absl::Duration kLookPause = absl::Milliseconds(1);
constexpr int kMaxLooks = 1000;
constexpr int kMaxProcesses = 1 << 14;  // reading so many takes about 0.3 s
constexpr size_t kMaxFieldBytes = 64;

std::optional<uint64_t> ReadNumber(const std::string& path) {
  uint64_t number = 0;
  if (!absl::SimpleAtoi(ReadSmallFile(path, 4096).value_or(""), &number)) return std::nullopt;  // "max" is no number
  return number;
}

// A control group: its path ("/job/step"), and the folder that contains such paths.
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

void FindFullControlGroup(TaskFacts& facts) {
  for (ControlGroup group : OwnControlGroups()) {
    while (true) {
      const std::optional<uint64_t> most = ReadNumber(absl::StrCat(group.root, group.path, "/pids.max"));
      const std::optional<uint64_t> now = ReadNumber(absl::StrCat(group.root, group.path, "/pids.current"));
      if (most && now && *now >= *most) {
        facts.group = group.path;
        facts.of_group = {*most, *now};
        return;
      }
      const size_t slash = group.path.rfind('/');
      if (group.path.size() <= 1 || slash == std::string::npos) break;
      group.path.resize(std::max<size_t>(slash, 1));
    }
  }
}

std::optional<uint64_t> FiniteLimit(__rlimit_resource resource) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

// Returns the number in a line of /proc/PID/status, such as "Threads:\t3".
std::optional<uint64_t> StatusNumber(const std::string& status, const std::string& field) {
  const size_t at = status.find(absl::StrCat("\n", field, ":"));
  if (at == std::string::npos) return std::nullopt;
  const std::vector<std::string> words =
      absl::StrSplit(status.substr(at + field.size() + 2, kMaxFieldBytes), absl::ByAnyChar(" \t\n"), absl::SkipEmpty());
  uint64_t number = 0;
  return !words.empty() && absl::SimpleAtoi(words[0], &number) ? std::optional(number) : std::nullopt;
}

// Returns how many tasks this user has, as far as this process can see them. nullopt if there are too many processes to
// count.
std::optional<uint64_t> CountTasksOfUser() {
  DIR* folder = opendir("/proc");
  if (folder == nullptr) return std::nullopt;
  uint64_t tasks = 0;
  int seen = 0;
  const dirent* entry = nullptr;
  while (seen <= kMaxProcesses && (entry = readdir(folder)) != nullptr) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9' || ++seen > kMaxProcesses) continue;
    const std::string status = ReadSmallFile(absl::StrCat("/proc/", entry->d_name, "/status"), 64 << 10).value_or("");
    if (StatusNumber(status, "Uid") == uint64_t{getuid()}) tasks += StatusNumber(status, "Threads").value_or(0);
  }
  closedir(folder);
  return tasks == 0 || seen > kMaxProcesses ? std::nullopt : std::optional(tasks);  // 0: /proc can't be read
}

// Returns how many tasks the machine has, from /proc/loadavg: "0.10 0.20 0.30 1/234 5678".
std::optional<uint64_t> CountTasksOfMachine() {
  const std::string text = ReadSmallFile("/proc/loadavg", 4096).value_or("");
  const size_t slash = text.find('/');
  if (slash == std::string::npos) return std::nullopt;
  uint64_t tasks = 0;
  const bool is_number = absl::SimpleAtoi(text.substr(slash + 1, text.find(' ', slash) - slash - 1), &tasks);
  return is_number ? std::optional(tasks) : std::nullopt;
}

// RLIMIT_NPROC does not apply to a process with CAP_SYS_RESOURCE or CAP_SYS_ADMIN.
bool IsBoundByUserLimit(const std::string& status) {
  const size_t at = status.find("\nCapEff:");
  uint64_t held = 0;
  if (at == std::string::npos || !absl::SimpleHexAtoi(status.substr(at + 9, 16), &held)) return geteuid() != 0;
  constexpr uint64_t kAdmin = uint64_t{1} << 21;
  constexpr uint64_t kResource = uint64_t{1} << 24;
  return (held & (kAdmin | kResource)) == 0;
}

bool CanMap(int protection) {
  size_t bytes = kStackBytes;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) == 0) {
    pthread_attr_getstacksize(&attributes, &bytes);
    pthread_attr_destroy(&attributes);
  }
  void* const place = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) return false;
  munmap(place, bytes);
  return true;
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
  // The kernel counts a joined thread for a moment longer.
  for (int i = 0; i < kMaxLooks && CountThreads() > before; ++i) Pause(kLookPause);
  return status;
}

absl::Status CheckDescriptors(size_t wanted) {
  std::vector<UniqueFd> tried;
  while (tried.size() < wanted) {
    UniqueFd fd(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
    if (!fd.is_open() && errno == EBADF) fd.reset(open("/", O_PATH | O_CLOEXEC));  // stdin is closed
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

TaskFacts TaskFactsOfThisProcess() {
  TaskFacts facts;
  FindFullControlGroup(facts);
  if (!facts.group.empty()) return facts;
  facts.lacks_addresses = !CanMap(PROT_NONE);
  facts.lacks_memory = facts.lacks_addresses || !CanMap(PROT_READ | PROT_WRITE);
  const std::string status = ReadSmallFile("/proc/self/status", 64 << 10).value_or("");
  const auto bytes = [&](const char* field) -> std::optional<uint64_t> {
    const auto kib = StatusNumber(status, field);
    return kib ? std::optional(*kib << 10) : std::nullopt;
  };
  facts.address_space = {FiniteLimit(RLIMIT_AS), bytes("VmSize")};
  facts.data = {FiniteLimit(RLIMIT_DATA), bytes("VmData")};
  if (facts.lacks_memory) return facts;
  if (IsBoundByUserLimit(status)) facts.user = {FiniteLimit(RLIMIT_NPROC), CountTasksOfUser()};
  const std::optional<uint64_t> tasks = CountTasksOfMachine();
  facts.threads = {ReadNumber("/proc/sys/kernel/threads-max"), tasks};
  facts.pids = {ReadNumber("/proc/sys/kernel/pid_max"), tasks};
  return facts;
}

std::string TaskLimitText(const TaskFacts& facts) {
  struct Named {
    const char* name;
    const TaskFacts::Limit& limit;
    const char* whose;
  };
  const Named counted[] = {{"RLIMIT_NPROC (ulimit -u)", facts.user, "this user has "},
                           {"kernel.threads-max", facts.threads, "this machine has "},
                           {"kernel.pid_max", facts.pids, "this machine has "}};
  const auto in_use = [](const TaskFacts::Limit& limit) {
    return limit.now ? absl::StrCat(", and ", *limit.now >> 20, " MiB are in use") : "";
  };
  if (!facts.group.empty()) {
    return absl::StrCat(": pids.max of the control group ", facts.group, " is ", facts.of_group.most.value_or(0),
                        ", and ", facts.of_group.now.value_or(0), " processes and threads are there: raise it");
  }
  if (facts.lacks_addresses && facts.address_space.most) {
    return absl::StrCat(": RLIMIT_AS (ulimit -v) is ", *facts.address_space.most >> 20, " MiB",
                        in_use(facts.address_space), ": raise it (batch systems set it: h_vmem, pvmem, VSizeFactor)");
  }
  if (facts.lacks_memory && !facts.lacks_addresses && facts.data.most) {
    return absl::StrCat(": RLIMIT_DATA (ulimit -d) is ", *facts.data.most >> 20, " MiB", in_use(facts.data),
                        ": raise it");
  }
  if (facts.lacks_memory) {
    return ": the kernel gives this process no more memory (vm.overcommit_memory, vm.max_map_count): end processes "
           "that use memory, or raise these limits";
  }
  std::string list;
  for (const Named& one : counted) {
    const TaskFacts::Limit& limit = one.limit;
    if (!limit.most) continue;
    const std::string text =
        absl::StrCat(one.name, " is ", *limit.most,
                     limit.now ? absl::StrCat(", and ", one.whose, *limit.now, " processes and threads") : "");
    if (limit.now && *limit.now >= *limit.most - *limit.most / 20) return absl::StrCat(": ", text, ": raise it");
    absl::StrAppend(&list, list.empty() ? "" : "; ", text);
  }
  if (list.empty()) {
    return ": the limit that is reached is not known, because /proc can't be read: look at ulimit -u, ulimit -v and "
           "pids.max of the control group";
  }
  return absl::StrCat(
      ": none of the limits that can be read here is reached: ", list,
      "; processes that can't be seen here count, too, and so does pids.max of a control group outside");
}

std::string TaskLimitInWords() { return TaskLimitText(TaskFactsOfThisProcess()); }

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

// If the kernel has no limit, use this number, which is more than the programs need.
constexpr rlim_t kEnough = 1'048'576;
constexpr rlim_t kUsual = 1024;  // if the kernel does not report the limit

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
