#include "worker_agent/keeper/process/descendants.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/text.h"
#include "common/base/unique_fd.h"
#include "common/sys/wait.h"
#include "worker_agent/keeper/boottime.h"
#include "worker_agent/keeper/process/children.h"
#include "worker_agent/keeper/text.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kFirstPause = absl::Milliseconds(1);  // between two looks; doubles each time
constexpr absl::Duration kMaxPause = absl::Milliseconds(50);   // the longest pause between two looks

template <typename T>
std::optional<T> ParseNumber(std::string_view text) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Returns nothing if any process could not be read.
std::optional<std::vector<ProcessInfo>> AllProcesses() {
  std::vector<ProcessInfo> all;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc"), ::closedir);
  if (folder == nullptr) return std::nullopt;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(folder.get());
    if (entry == nullptr && errno != 0) return std::nullopt;
    if (entry == nullptr) return all;
    const std::optional<pid_t> pid = ParseNumber<pid_t>(entry->d_name);
    if (!pid.has_value()) continue;
    std::optional<ProcessInfo> info = ReadProcess(*pid);
    if (info.has_value()) all.push_back(*info);
    if (!info.has_value() && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) return std::nullopt;
  }
}

}  // namespace

std::optional<ProcessInfo> ParseProcStat(std::string_view text) {
  const size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  ProcessInfo info;
  const std::optional<pid_t> pid = ParseNumber<pid_t>(text.substr(0, std::min(text.find(' '), text.size())));
  if (!pid.has_value()) return std::nullopt;
  info.pid = *pid;
  const size_t name_begin = text.find('(');
  if (name_begin < name_end) info.name = text.substr(name_begin + 1, name_end - name_begin - 1);

  char state = 0;
  uint64_t threads = 0;
  std::string_view rest = text.substr(name_end + 1);
  // The numbers of the fields in proc(5): 3 state, 4 parent, 5 group, 6 session, 20 threads, 22 start time.
  for (int field = 3; field <= 22; ++field) {
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    std::string_view word = rest.substr(0, std::min(rest.find(' '), rest.size()));
    if (word.empty()) return std::nullopt;
    rest.remove_prefix(word.size());
    if (field == 3) state = word[0];
    if (field == 4) info.parent = ParseNumber<pid_t>(word).value_or(0);
    if (field == 5) info.group = ParseNumber<pid_t>(word).value_or(0);
    if (field == 6) info.session = ParseNumber<pid_t>(word).value_or(0);
    if (field == 20) threads = ParseNumber<uint64_t>(word).value_or(0);
    if (field == 22) info.start_time = ParseNumber<uint64_t>(word).value_or(0);
  }
  // A main thread that has ended before other threads is also shown as a zombie. Then the number of threads is above
  // one.
  info.is_dead = (state == 'Z' || state == 'X') && threads <= 1;
  info.is_stopped = state == 'T' || state == 't';
  info.state = state;
  return info;
}

namespace {

std::optional<ProcessInfo> ReadStat(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.is_open()) return std::nullopt;
  char buffer[1024];
  const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
  if (n == 0) errno = ESRCH;
  if (n <= 0) return std::nullopt;
  return ParseProcStat(std::string_view(buffer, static_cast<size_t>(n)));
}

}  // namespace

std::optional<ProcessInfo> ReadProcess(pid_t pid) { return ReadStat(absl::StrCat("/proc/", pid, "/stat")); }

char StateOf(const ProcessInfo& process) {
  if (process.state != 'Z' || process.is_dead) return process.state;
  const std::string tasks = absl::StrCat("/proc/", process.pid, "/task");
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(tasks.c_str()), ::closedir);
  while (const dirent* entry = folder == nullptr ? nullptr : ::readdir(folder.get())) {
    const auto thread = ReadStat(absl::StrCat(tasks, "/", entry->d_name, "/stat"));
    if (thread.has_value() && thread->state != 'Z' && thread->state != 'X') return thread->state;
  }
  return process.state;
}

std::optional<std::vector<ProcessInfo>> DescendantsOf(pid_t root, const std::set<pid_t>& spared) {
  const std::optional<std::vector<ProcessInfo>> all = AllProcesses();
  if (!all.has_value()) return std::nullopt;
  std::multimap<pid_t, ProcessInfo> by_parent;
  for (const ProcessInfo& info : *all) by_parent.emplace(info.parent, info);
  std::vector<ProcessInfo> found;
  std::set<pid_t> seen = spared;
  seen.insert(root);
  auto add_children = [&](pid_t parent) {
    auto [begin, end] = by_parent.equal_range(parent);
    for (auto it = begin; it != end; ++it) {
      if (seen.insert(it->second.pid).second) found.push_back(it->second);
    }
  };
  add_children(root);
  for (size_t i = 0; i < found.size(); ++i) add_children(found[i].pid);
  return found;
}

std::string ShownName(const ProcessInfo& process) {
  // EscapeControl makes at most four bytes of one.
  return EscapeControl(CleanText(process.name, kMaxStuckNameBytes / 4));
}

std::optional<std::vector<ProcessInfo>> LivingMembers(pid_t group) {
  std::optional<std::vector<ProcessInfo>> all = AllProcesses();
  if (all.has_value()) std::erase_if(*all, [&](const ProcessInfo& p) { return p.group != group || p.is_dead; });
  return all;
}

bool HasLivingMember(pid_t group) {
  const std::optional<std::vector<ProcessInfo>> living = LivingMembers(group);
  return !living.has_value() || !living->empty();
}

std::string StatusRow(pid_t pid, std::string_view name) {
  const UniqueFd fd(::open(absl::StrCat("/proc/", pid, "/status").c_str(), O_RDONLY | O_CLOEXEC));
  char buffer[8192];  // the longest row, Mems_allowed, has some 4 KiB
  const ssize_t size = fd.is_open() ? ::read(fd.get(), buffer, sizeof buffer) : -1;
  if (size <= 0) return "";
  const std::string_view text(buffer, static_cast<size_t>(size));
  const std::string row = absl::StrCat("\n", std::string(name), ":\t");
  const size_t at = text.find(row);
  if (at == std::string_view::npos) return "";
  const size_t begin = at + row.size();
  return std::string(text.substr(begin, std::min(text.find('\n', begin), text.size()) - begin));
}

bool Ignores(pid_t pid, int signal) {
  const std::string row = StatusRow(pid, "SigIgn");  // hexadecimal, bit 0 is signal 1
  uint64_t ignored = 0;
  const auto [end, error] = std::from_chars(row.data(), row.data() + row.size(), ignored, 16);
  return error == std::errc() && (ignored >> (signal - 1) & 1) != 0;
}

void SignalExactly(const ProcessInfo& process, int signal) {
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  if (!pidfd.is_open() && errno != ENOSYS) return;
  const std::optional<ProcessInfo> now = ReadProcess(process.pid);
  if (!now.has_value() || now->start_time != process.start_time) return;
  if (pidfd.is_open()) {
    ::syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0);
  } else {
    ::kill(process.pid, signal);
  }
}

namespace {

struct Look {
  bool has_looked = false;  // false: errno says why
  pid_t found = 0;          // a process that was found; 0: there was none
};

std::string NameOf(pid_t pid) {
  const std::optional<ProcessInfo> process = ReadProcess(pid);
  if (!process.has_value()) return absl::StrCat("process ", pid);
  return absl::StrCat("process ", pid, " (", ShownName(*process), ", state ", std::string(1, StateOf(*process)), ")");
}

// Looks once: sends SIGKILL to all descendants that it finds, and reaps those that have ended.
Look KillDescendants(const std::set<pid_t>& spared) {
  const std::optional<std::vector<ProcessInfo>> found = DescendantsOf(::getpid(), spared);
  if (!found.has_value()) return {};
  for (const ProcessInfo& process : *found) {
    SignalExactly(process, SIGKILL);
    // Reaps only processes that it found, one by one, because other code reaps the spared ones.
    ::waitpid(process.pid, nullptr, WNOHANG);
  }
  if (!found->empty()) return {true, found->front().pid};
  // /proc may hide another user's processes (hidepid). The list of a process's own children shows them all.
  Look look{true, 0};
  look.has_looked = Children::OfThisProcess().ForEach([&](pid_t child) {
    if (spared.count(child) == 0) look.found = child;
  });
  if (look.found == 0) return look;
  ::kill(look.found, SIGKILL);  // our child and not reaped, so the pid can't mean another process
  ::waitpid(look.found, nullptr, WNOHANG);
  return look;
}

}  // namespace

// Returns OK only after a look that finds nothing, because a process that was found may have forked before it died.
absl::Status KillDescendantsUntilNone(const std::set<pid_t>& spared, absl::Duration patience) {
  const MonotonicTime deadline = BootTime() + patience;
  for (absl::Duration pause = kFirstPause;; pause = std::min(2 * pause, kMaxPause)) {
    const Look look = KillDescendants(spared);
    const int error = errno;
    if (look.has_looked && look.found == 0) return absl::OkStatus();
    if (BootTime() >= deadline) {
      if (look.has_looked) return absl::DeadlineExceededError(absl::StrCat(NameOf(look.found), " can't be killed"));
      return absl::UnavailableError(absl::StrCat("/proc can't be read: ", std::strerror(error)));
    }
    Pause(pause);
  }
}

void WaitUntilNoneIsNamed(const std::string& name, absl::Duration patience) {
  const MonotonicTime deadline = BootTime() + patience;
  for (absl::Duration pause = kFirstPause; BootTime() < deadline; pause = std::min(2 * pause, kMaxPause)) {
    const std::optional<std::vector<ProcessInfo>> found = DescendantsOf(::getpid(), {});
    const auto has_name = [&](const ProcessInfo& process) { return process.name == name && !process.is_dead; };
    if (!found.has_value() || std::none_of(found->begin(), found->end(), has_name)) return;
    Pause(pause);
  }
}

}  // namespace muster::agent
