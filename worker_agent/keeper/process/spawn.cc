#include "worker_agent/keeper/process/spawn.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/os_error.h"
#include "common/sys/child/child.h"
#include "common/sys/room.h"
#include "worker_agent/keeper/boottime.h"
#include "worker_agent/launch_error/execute.h"

namespace muster::agent {
namespace {

struct LaunchReport {
  LaunchStep step;
  int error;
  char path[2048];  // the file that could not be executed, cut; empty: argv[0] was not found in PATH
};

[[noreturn]] void Fail(int report_fd, LaunchStep step, int error, std::string_view path = {}) {
  LaunchReport report{step, error, {}};
  path.copy(report.path, sizeof report.path - 1);
  [[maybe_unused]] ssize_t n = ::write(report_fd, &report, sizeof report);
  ::_exit(127);
}

bool BindTo(const std::vector<int>& cpus) {
  if (cpus.empty()) return true;
  const int highest = *std::max_element(cpus.begin(), cpus.end());
  if (*std::min_element(cpus.begin(), cpus.end()) < 0 || highest >= 65536) {
    errno = EINVAL;
    return false;
  }
  const size_t bytes = CPU_ALLOC_SIZE(highest + 1);
  cpu_set_t* set = CPU_ALLOC(highest + 1);
  CPU_ZERO_S(bytes, set);
  for (int cpu : cpus) CPU_SET_S(cpu, bytes, set);
  const bool is_bound = ::sched_setaffinity(0, bytes, set) == 0;
  CPU_FREE(set);
  return is_bound;
}

// `inherited`: a descriptor that stays open in the program beside the standard streams; -1: none.
bool SetDescriptors(const ProcessSpec& spec, int stdout_fd, int stderr_fd, int inherited) {
  if (!spec.inherits_stdin) {
    const int null_fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null_fd < 0 || ::dup2(null_fd, 0) < 0) return false;
  }
  if (::dup2(stdout_fd, 1) < 0 || ::dup2(stderr_fd, 2) < 0) return false;
  // Keeper and shim open everything with O_CLOEXEC; this is for descriptors that a library may have opened without it.
  if (::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) != 0) {
    for (int fd = 3; fd < 1024; ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);  // kernels before 5.11
  }
  return inherited < 0 || ::fcntl(inherited, F_SETFD, 0) == 0;
}

std::vector<std::string> EnvironmentOf(const ProcessSpec& spec, int inherited) {
  std::vector<std::string> environment = spec.env;
  if (inherited < 0) return environment;
  const std::string name = absl::StrCat(spec.hand_over.variable, "=");
  std::erase_if(environment, [&](const std::string& other) { return absl::StartsWith(other, name); });
  environment.push_back(absl::StrCat(name, inherited));
  return environment;
}

void ResetSignals() {
  for (int signal = 1; signal <= SIGRTMAX; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void RunChild(const ProcessSpec& spec, pid_t parent, int stdout_fd, int stderr_fd, int inherited,
                           int report_fd, const rlimit& open_files) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // the caller died before prctl took effect
  ResetSignals();
  ::setrlimit(RLIMIT_NOFILE, &open_files);
  if (!spec.working_directory.empty() && ::chdir(spec.working_directory.c_str()) != 0) {
    Fail(report_fd, LaunchStep::kFolder, errno);
  }
  if (!BindTo(spec.cpus)) Fail(report_fd, LaunchStep::kCpus, errno);
  if (!SetDescriptors(spec, stdout_fd, stderr_fd, inherited)) Fail(report_fd, LaunchStep::kStreams, errno);
  const std::vector<std::string> environment = EnvironmentOf(spec, inherited);
  std::vector<char*> env = ExecPointers(environment);
  ::environ = env.data();  // Execute searches the PATH of this environment
  const ExecFailure failure = Execute(spec.argv);
  Fail(report_fd, failure.step, failure.error, failure.path);
}

LaunchError Explain(const ProcessSpec& spec, const LaunchReport& report) {
  const std::string why = std::strerror(report.error);
  const auto failed = [&](const std::string& what) {
    return MakeLaunchError(report.step, report.error, absl::StrCat(what, ": ", why));
  };
  switch (report.step) {
    case LaunchStep::kFolder:
      return failed(absl::StrCat("the working directory ", spec.working_directory, " can't be entered"));
    case LaunchStep::kCpus:
      return failed(absl::StrCat("can't bind to the CPUs ", absl::StrJoin(spec.cpus, ","), " (--bind_core)"));
    case LaunchStep::kStreams:
      return failed("can't set up the standard streams");
    default:
      return Explain(ExecFailure{report.step, report.error, report.path}, spec.argv, spec.working_directory);
  }
}

}  // namespace

namespace {

// Returns the limit of tasks in words. Reads it once for all slots of a launch: it may have to read all of /proc, and
// the keeper takes no orders meanwhile.
const std::string& TaskLimitOfThisLaunch() {
  constexpr absl::Duration kLaunch = absl::Seconds(10);
  static std::string text;
  static MonotonicTime until;
  if (text.empty() || BootTime() >= until) {
    text = TaskLimitInWords();
    until = BootTime() + kLaunch;
  }
  return text;
}

}  // namespace

absl::Status ForkError() {
  const int error = errno;
  const std::string text =
      absl::StrCat("fork: ", std::strerror(error), error == EAGAIN || error == ENOMEM ? TaskLimitOfThisLaunch() : "");
  return At(LaunchStep::kProcess, absl::ResourceExhaustedError(text), error);
}

absl::StatusOr<Spawned> SpawnProcess(const ProcessSpec& spec, int stdout_fd, int stderr_fd, const rlimit& open_files) {
  int report[2];
  if (::pipe2(report, O_CLOEXEC | O_NONBLOCK) != 0) {
    return At(LaunchStep::kStreams, OsError(absl::StatusCode::kResourceExhausted, "pipe", errno));
  }
  Spawned spawned;
  spawned.launch_report.reset(report[0]);
  UniqueFd report_end(report[1]);
  if (!spec.hand_over.variable.empty() && spec.hand_over.descriptor == nullptr) {
    const std::string text =
        absl::StrCat("the descriptor for ", spec.hand_over.variable, " was lost: too many open files in the keeper");
    return At(LaunchStep::kStreams, absl::ResourceExhaustedError(text), EMFILE);
  }
  const int inherited = spec.hand_over.variable.empty() ? -1 : spec.hand_over.descriptor->get();
  const pid_t parent = ::getpid();
  spawned.pid = ::fork();
  if (spawned.pid == 0) RunChild(spec, parent, stdout_fd, stderr_fd, inherited, report_end.get(), open_files);
  if (spawned.pid < 0) return ForkError();
  ::setpgid(spawned.pid, spawned.pid);  // also here, so that the group exists before anybody signals it
  return spawned;
}

std::optional<LaunchError> ReadLaunchReport(const ProcessSpec& spec, const UniqueFd& launch_report, bool& is_done) {
  LaunchReport report{};
  const ssize_t n = ::read(launch_report.get(), &report, sizeof report);
  is_done = n >= 0 || (errno != EAGAIN && errno != EINTR);
  if (n != sizeof report) return std::nullopt;
  return Explain(spec, report);
}

}  // namespace muster::agent
