#include "worker_agent/node/own_scheduler.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/clock.h"
#include "common/base/exit_codes.h"
#include "common/base/fence_times.h"
#include "common/net/ip_address.h"
#include "common/net/net.h"
#include "common/sys/child/child.h"
#include "common/sys/log.h"
#include "common/sys/room.h"
#include "common/sys/wait.h"
#include "worker_agent/keeper/client/keeper.h"
#include "worker_agent/launch/port_reservation.h"
#include "worker_agent/node/listening_sockets.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kLookInterval = absl::Milliseconds(100);
constexpr absl::Duration kStartPatience = absl::Seconds(5);
constexpr absl::Duration kStartPause = absl::Milliseconds(20);
constexpr char kOwnHost[] = "127.0.0.1";                    // the scheduler's address with --standalone
constexpr absl::Duration kTermPatience = absl::Seconds(7);  // after SIGTERM a scheduler drains for 5 s at most
constexpr int kMaxOwnRestarts = 3;

std::string Seconds(absl::Duration duration) {
  return duration == absl::InfiniteDuration() ? "-1" : absl::StrCat(absl::ToDoubleSeconds(duration));
}

// Uses fork rather than posix_spawn, which has no way to make the child end with this process (PR_SET_PDEATHSIG).
// Between fork and exec the child makes only async-signal-safe calls.
// The scheduler inherits `inherited`; -1: no descriptor.
absl::StatusOr<pid_t> StartScheduler(const std::vector<std::string>& argv, int inherited) {
  const std::vector<char*> pointers = ExecPointers(argv);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("ms-scheduler can't be started: ", std::strerror(errno), TaskLimitInWords()));
  }
  if (pid > 0) return pid;
  setpgid(0, 0);  // so Ctrl-C reaches only the agent, which then ends the scheduler in order
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  if (inherited >= 0) fcntl(inherited, F_SETFD, 0);  // no close-on-exec
  execvp(pointers[0], pointers.data());
  dprintf(STDERR_FILENO, "ms-worker: ms-scheduler can't be started (%s): %s\n", pointers[0], std::strerror(errno));
  _exit(127);
}

}  // namespace

std::string OwnProgram() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  return length > 0 && length < static_cast<ssize_t>(sizeof(path)) ? std::string(path, static_cast<size_t>(length))
                                                                   : "ms-worker";
}

std::string SchedulerProgram() {
  const std::string own = OwnProgram();
  const size_t slash = own.rfind('/');
  const std::string beside = own.substr(0, slash + 1) + "ms-scheduler";
  return slash != std::string::npos && access(beside.c_str(), X_OK) == 0 ? beside : "ms-scheduler";
}

std::vector<std::string> FlagsOf(const std::vector<std::string>& args, const std::vector<std::string>& command) {
  std::vector<std::string> flags(args.begin(),
                                 args.end() - static_cast<ptrdiff_t>(std::min(command.size(), args.size())));
  if (!flags.empty() && flags.back() == "--") flags.pop_back();
  return flags;
}

int BecomeScheduler(const std::vector<std::string>& flags) {
  std::vector<std::string> argv = {SchedulerProgram()};
  argv.insert(argv.end(), flags.begin(), flags.end());
  argv.push_back("--once");
  execvp(argv[0].c_str(), ExecPointers(argv).data());
  std::fprintf(stderr,
               "ms-worker: MS_ROLE is MS_SCHED, but %s can't be started: %s. Install it in ms-worker's folder\n",
               argv[0].c_str(), std::strerror(errno));
  return kExitUsage;
}

namespace {

// Returns the flags for ms-scheduler that the user has given. With --standalone, leaves out those of a --config file:
// that may be the cluster's file, with port, socket and journal of the cluster's scheduler.
std::vector<std::string> UsersOwnFlags(const AgentSettings& settings) {
  std::vector<std::string> flags;
  if (settings.with_scheduler) flags = settings.scheduler_config;
  flags.insert(flags.end(), settings.scheduler_flags.begin(), settings.scheduler_flags.end());
  return flags;
}

}  // namespace

std::vector<std::string> OwnSchedulerFlags(const AgentSettings& settings) {
  std::vector<std::string> flags = {
      "--once",
      absl::StrCat("--sched_host=", settings.sched_host),
      absl::StrCat("--sched_port=", settings.sched_port),
      absl::StrCat("--job_id=", settings.job_id),
      absl::StrCat("--stop_timeout=", Seconds(settings.stop_timeout)),
      absl::StrCat("--fence_stop_timeout=",
                   Seconds(FenceStopTimeout(settings.fence_stop_timeout, settings.stop_timeout))),
      absl::StrCat("--receive_msg_timeout=", Seconds(settings.receive_msg_timeout)),
      absl::StrCat("--log_format=", settings.log_format)};
  const auto add = [&](const char* flag, const auto& value) {
    if (value) flags.push_back(absl::StrCat("--", flag, "=", *value));
  };
  add("worker_num", settings.worker_num);
  add("server_num", settings.server_num);
  add("max_restarts", settings.max_restarts);
  add("restart_scope", settings.restart_scope);
  const StallSettings& stalls = settings.stalls;
  if (stalls.progress_timeout) {
    flags.push_back(absl::StrCat("--progress_timeout=", Seconds(*stalls.progress_timeout)));
  }
  if (stalls.first_progress_timeout) {
    flags.push_back(absl::StrCat("--first_progress_timeout=", Seconds(*stalls.first_progress_timeout)));
  }
  add("stall_action", stalls.action);
  if (settings.enable_recovery) flags.push_back(absl::StrCat("--enable_recovery=", *settings.enable_recovery ? 1 : 0));
  if (settings.hccl_cm_init) flags.push_back(absl::StrCat("--hccl_cm_init=", *settings.hccl_cm_init ? 1 : 0));
  if (settings.topo_timeout) flags.push_back(absl::StrCat("--topo_timeout=", Seconds(*settings.topo_timeout)));
  if (!settings.recovery_path.empty()) flags.push_back(absl::StrCat("--recovery_path=", settings.recovery_path));
  if (settings.tls.is_on()) {
    flags.push_back(absl::StrCat("--tls_config=", settings.tls.config));
    flags.push_back(absl::StrCat("--tls_identity=", settings.tls.identity));
    flags.push_back(absl::StrCat("--crl_expired=", settings.tls.crl_expired));
    if (settings.tls.allow_readable_keys) flags.push_back("--tls_allow_readable_keys");
  }
  if (settings.tls.require_tls) flags.push_back("--require_tls");
  // With --standalone a journal file has no use: no one could start a new scheduler on a port that the kernel chose.
  if (settings.standalone) flags.push_back("--journal_path=memory");
  // Without a log file of its own, the scheduler logs only errors, since the agent's log shows the rest.
  const std::vector<std::string> own = UsersOwnFlags(settings);
  const bool names_log = std::any_of(own.begin(), own.end(),
                                     [](const std::string& flag) { return absl::StartsWith(flag, "--log_file="); });
  if (settings.log_dir.empty() && !names_log) {
    flags.push_back("--log_level=error");
  } else {
    if (!settings.log_dir.empty()) flags.push_back(absl::StrCat("--log_file=", settings.log_dir, "/scheduler.log"));
    flags.push_back(absl::StrCat("--log_level=", settings.log_level));
  }
  flags.insert(flags.end(), own.begin(), own.end());
  return flags;
}

bool HasJournalFile(const std::vector<std::string>& flags, absl::string_view path_of_environment) {
  absl::string_view path = path_of_environment;
  bool has_recovery = false;
  for (const absl::string_view flag : flags) {  // of a flag that is given twice, the last one counts
    absl::string_view value = flag;
    if (absl::ConsumePrefix(&value, "--journal_path=")) path = value;
    if (absl::ConsumePrefix(&value, "--enable_recovery=")) has_recovery = value == "1" || value == "true";
  }
  return path.empty() ? has_recovery : path != "memory";
}

absl::StatusOr<std::unique_ptr<OwnScheduler>> OwnScheduler::StartIfWanted(AgentSettings& settings,
                                                                          const std::vector<IpAddress>& addresses,
                                                                          const std::string& lock_base) {
  UniqueFd lock;
  std::optional<ReservedPort> port;
  if (settings.standalone) {
    if (const absl::Status way = LocalAddressTowards(*IpAddress::Parse(kOwnHost)).status(); !way.ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat(way.message(),
                       ": the loopback interface of this network namespace is down, and --standalone needs "
                       "it: ip link set lo up"));
    }
    PortOptions options;
    options.lock_base = lock_base;
    if (settings.sched_port != 0) {
      options.range = NumberRange{settings.sched_port, settings.sched_port};
      options.setting = "sched_port";
    }
    absl::StatusOr<ReservedPort> reserved = ReservedPort::Reserve(options);
    if (!reserved.ok()) return reserved.status();
    settings.sched_host = kOwnHost;
    settings.sched_port = reserved->port();
    port = *std::move(reserved);
  } else if (settings.with_scheduler) {
    const auto local = std::find_if(addresses.begin(), addresses.end(), IsLocalAddress);
    if (local == addresses.end() || IsListenedOn(*local, settings.sched_port)) return nullptr;
    // If the lock can't be taken, the agent still starts its scheduler: if another one is faster, this one can't bind
    // the port, and ends.
    absl::StatusOr<UniqueFd> taken = LockPort(lock_base, settings.sched_port, PortUse::kOwnScheduler);
    if (absl::IsAlreadyExists(taken.status())) return nullptr;  // another agent of this user is about to start it
    if (taken.ok()) lock = *std::move(taken);
  } else {
    return nullptr;
  }
  std::vector<std::string> argv = OwnSchedulerFlags(settings);
  const char* const inherited = getenv("MS_JOURNAL_PATH");
  const bool has_journal_file = HasJournalFile(argv, inherited == nullptr ? "" : inherited);
  std::optional<OwnPage> page;
  if (!NamesPage(UsersOwnFlags(settings))) {
    absl::StatusOr<OwnPage> made = OwnPage::Make(lock_base);
    if (made.ok()) {
      page = *std::move(made);
      for (std::string& flag : page->Flags()) argv.push_back(std::move(flag));
    } else {
      Log(Severity::kWarning, absl::StrCat("the scheduler of this job has no page: ", made.status().message()));
    }
  }
  argv.insert(argv.begin(), SchedulerProgram());
  std::unique_ptr<OwnScheduler> scheduler(
      new OwnScheduler(std::move(argv), has_journal_file, std::move(lock), std::move(port), std::move(page)));
  if (const absl::Status started = scheduler->Start(); !started.ok()) return started;
  return scheduler;
}

absl::Status OwnScheduler::Start() {
  const absl::StatusOr<pid_t> pid = StartScheduler(argv_, page_ ? page_->token_fd() : -1);
  if (!pid.ok()) return pid.status();
  pid_ = *pid;
  pidfd_ = WatchChild(pid_);
  has_ended_ = is_end_handled_ = false;
  exit_ = {};
  return absl::OkStatus();
}

std::optional<std::string> OwnScheduler::TakeLoss() {
  if (!HasEnded() || std::exchange(is_end_handled_, true)) return std::nullopt;
  if (exit_.signal == 0) {
    if (restarts_ > 0 && exit_.code != 0) {
      Log(Severity::kError, absl::StrCat("the ms-scheduler that this agent started again ended with exit code ",
                                         exit_.code, "; its own log says why"));
    }
    return std::nullopt;
  }
  const std::string how = absl::StrCat("was killed by ", NameOfSignal(exit_.signal), " (pid ", pid_, ")");
  if (!has_journal_file_) return how;
  absl::Status started = absl::ResourceExhaustedError("it was restarted too often");
  if (has_password_variable_) {
    started = absl::FailedPreconditionError("its key's password is no longer in the environment");
  } else if (restarts_ < kMaxOwnRestarts) {
    started = Start();
  }
  if (started.ok()) {
    Keeper::Spare(pid_);
    Log(Severity::kWarning,
        absl::StrCat("the ms-scheduler that this agent started ", how, ": started again (pid ", pid_, ", ", ++restarts_,
                     " of at most ", kMaxOwnRestarts, " times); it reads its record of the job from its journal"));
  } else {
    // The page's token is gone with this agent, so its flags, which are the last ones, are of no use.
    const std::vector<std::string> argv(argv_.begin(), argv_.end() - (page_ ? page_->Flags().size() : 0));
    Log(Severity::kError,
        absl::StrCat("the ms-scheduler that this agent started ", how, " and is not started again (", started.message(),
                     "): once what ended it is fixed, start it on this machine: ", absl::StrJoin(argv, " ")));
  }
  return std::nullopt;
}

OwnScheduler::~OwnScheduler() {
  if (pid_ == 0) return;
  if (!has_ended_) {
    kill(pid_, SIGTERM);
    WaitForEnd(kTermPatience, /*restarts=*/false, [] { return false; });
  }
  if (!has_ended_) {
    kill(pid_, SIGKILL);
    ReapChild(pid_);
  }
}

bool OwnScheduler::HasEnded() {
  if (has_ended_) return true;
  if (AwaitChild(pid_) == ChildState::kRuns) return false;
  has_ended_ = true;
  exit_ = ReapChild(pid_).value_or(ExitStatus{});  // nullopt: other code has reaped it
  pidfd_.reset();
  return true;
}

absl::Status OwnScheduler::WaitUntilItListens(const AgentSettings& settings) {
  const std::optional<ReservedPort> until_return = std::exchange(port_, std::nullopt);
  const auto addresses = ResolveHost(settings.sched_host);
  if (!addresses.ok()) return absl::OkStatus();  // the session will report this error
  const MonotonicTime deadline = Clock::System().Read().monotonic + kStartPatience;
  while (Clock::System().Read().monotonic < deadline) {
    const bool has_ended = HasEnded();  // before the check below: our scheduler ends if another one gets the port first
    for (const IpAddress& address : *addresses) {
      if (!IsLocalAddress(address) || !IsListenedOn(address, settings.sched_port)) continue;
      if (page_ && !has_ended) {
        const std::string where = page_->InWords(settings.tls.is_on(), isatty(STDERR_FILENO) != 0);
        Log(Severity::kInfo, absl::StrCat("the page of this job: ", where));
      }
      return absl::OkStatus();
    }
    if (has_ended) {
      return absl::InternalError(absl::StrCat("the ms-scheduler that this agent started has ended; it says why ",
                                              settings.log_dir.empty()
                                                  ? "above, or in its log"
                                                  : absl::StrCat("above or in ", settings.log_dir, "/scheduler.log")));
    }
    Pause(kStartPause);
  }
  return absl::OkStatus();
}

void OwnScheduler::WaitForEnd(absl::Duration patience, bool restarts, const std::function<bool()>& is_hurried) {
  const MonotonicTime deadline = Clock::System().Read().monotonic + patience;
  while (!is_hurried() && Clock::System().Read().monotonic < deadline) {
    if (restarts) (void)TakeLoss();  // starts it again if it was killed
    if (HasEnded()) return;
    WaitFor(fd(), POLLIN, kLookInterval);  // an old kernel has no pidfd: this then only pauses
  }
}

}  // namespace muster::agent
