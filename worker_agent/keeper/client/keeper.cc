#include "worker_agent/keeper/client/keeper.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/unique_fd.h"
#include "common/sys/child/child.h"
#include "common/sys/log.h"
#include "common/sys/room.h"
#include "common/sys/wait.h"
#include "worker_agent/keeper/boottime.h"
#include "worker_agent/keeper/channel.h"
#include "worker_agent/keeper/client/keeper_pulse.h"
#include "worker_agent/keeper/files/helper_process.h"
#include "worker_agent/keeper/pid_namespace.h"
#include "worker_agent/keeper/process/agent_watch.h"
#include "worker_agent/keeper/process/descendants.h"
#include "worker_agent/keeper/process/fence_page.h"
#include "worker_agent/keeper/process/guardian.h"
#include "worker_agent/keeper/process/keeper_process.h"
#include "worker_agent/keeper/shim/shim.h"
#include "worker_agent/keeper/wire.h"
#include "worker_agent/launch_error/launch_error.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxUnsentBytes = 256 * 1024 * 1024;  // a keeper that leaves this much unread is broken
constexpr absl::Duration kEndLookPause = absl::Milliseconds(100);
constexpr absl::Duration kEndPatience = absl::Seconds(8);  // longer than the keeper waits for a terminal and a disk
constexpr absl::Duration kUnkillablePatience =
    absl::Seconds(1);  // instead of kEndPatience if a process can't be killed
constexpr absl::Duration kTurnSlack = absl::Seconds(2);
constexpr absl::Duration kLosePatience = absl::Seconds(2);
constexpr absl::Duration kHelpersPatience = absl::Seconds(2);  // for all together; a helper that needs longer hangs
constexpr absl::Duration kKillPatience = absl::Seconds(10);

// The agent's own children, which are not killed. There is one set for the process, since KillAllDescendants acts on
// the whole process.
std::set<pid_t>& Spared() {
  static auto* spared = new std::set<pid_t>;
  return *spared;
}

bool HasOneThread() {
#if defined(__SANITIZE_THREAD__)
  return true;  // the sanitizer has a thread of its own
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
  return true;
#endif
#endif
  DIR* folder = ::opendir("/proc/self/task");
  if (folder == nullptr) return true;
  int threads = 0;
  while (const dirent* entry = ::readdir(folder)) threads += entry->d_name[0] != '.' ? 1 : 0;
  ::closedir(folder);
  return threads == 1;
}

bool ReadAll(int fd, void* bytes, size_t size) {
  ssize_t n = 0;
  do {
    n = ::read(fd, bytes, size);
  } while (n < 0 && errno == EINTR);
  return n == static_cast<ssize_t>(size);
}

}  // namespace

class Keeper::Impl {
 public:
  struct Family {
    pid_t guardian = 0;
    pid_t keeper = 0;
    bool is_guarded = false;
    bool is_isolated = false;
    std::vector<pid_t> helpers;
    FencePage* page = nullptr;
    std::shared_ptr<const UniqueFd> guardian_socket;
  };

  Impl(UniqueFd socket, Family family, absl::Duration stop_timeout)
      : channel_(std::move(socket)),
        family_(std::move(family)),
        helpers_(family_.helpers),
        stop_timeout_(stop_timeout),
        epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    Spared().insert(helpers_.begin(), helpers_.end());
    UpdateWatch();
  }

  // Also readable when the socket has room for bytes that wait to be sent: the next Poll sends them.
  int fd() const { return epoll_.get(); }
  const Family& family() const { return family_; }

  void Send(const KeeperCommand& command) { SendFrame(Encode(command), nullptr); }
  void SetLastReport(const LastReportCommand& command) { SendFrame(Encode(command), command.hand_over.descriptor); }
  void Start(const ProcessSpec& spec);
  void Stop(const ProcessKey& key);
  void StopAll(absl::Duration interrupt_time);
  void KillAll();
  void SetFence(MonotonicTime at, MonotonicTime counted_from);
  absl::Status HoldLock(int fd);
  std::vector<KeeperEvent> Poll();
  void End();

 private:
  void SendFrame(const std::string& frame, std::shared_ptr<const UniqueFd> descriptor);
  void UpdateWatch();
  void TranslatePids(KeeperEvent& event);
  void LookAtPulse(std::vector<KeeperEvent>& events);
  void Lose();
  bool IsKeeperAtWork(MonotonicTime since) const;
  bool ReapGuardian();
  void AwaitGuardian(MonotonicTime deadline);
  void EndHelpers();

  Channel channel_;
  const Family family_;
  std::vector<pid_t> helpers_;  // not reaped yet
  const absl::Duration stop_timeout_;
  UniqueFd epoll_;
  std::vector<KeeperEvent> own_events_;  // answers that were given without the keeper
  std::set<ProcessKey> unkillable_;
  KeeperPulse pulse_;
  // By slot: the pid of its last process inside and outside the keeper's pid namespace.
  std::map<uint32_t, std::pair<int64_t, int64_t>> outer_pids_;
  uint32_t fence_falls_seen_ = 0;
  uint32_t watched_events_ = 0;
  bool is_lost_ = false;
  bool is_reaped_ = false;
};

void Keeper::Impl::Start(const ProcessSpec& spec) {
  const std::string frame = Encode(StartCommand{spec});
  if (frame.size() <= kMaxFrameBytes) return SendFrame(frame, spec.hand_over.descriptor);
  Ended ended;
  ended.key = spec.key;
  const LaunchDiagnosis diagnosis = DiagnoseLaunch(LaunchStep::kProgram, E2BIG);
  ended.end.exit.code = diagnosis.exit_code;
  ended.end.launch_error =
      absl::StrCat("the command and its environment take ", frame.size(), " bytes; the limit is ", kMaxFrameBytes);
  ended.end.launch_reason = std::string(diagnosis.reason);
  ended.end.launch_remedy = diagnosis.remedy;
  ended.ended_at = BootTime();
  own_events_.push_back(ended);
  UpdateWatch();
}

void Keeper::Impl::Stop(const ProcessKey& key) {
  pulse_.MustEndBy(BootTime() + stop_timeout_);
  Send(StopCommand{key});
}

void Keeper::Impl::StopAll(absl::Duration interrupt_time) {
  pulse_.MustEndBy(BootTime() + stop_timeout_);
  Send(StopAllCommand{absl::ToInt64Milliseconds(interrupt_time)});
}

void Keeper::Impl::KillAll() {
  pulse_.MustEndBy(BootTime());
  Send(KillAllCommand{});
}

void Keeper::Impl::SetFence(MonotonicTime at, MonotonicTime counted_from) {
  pulse_.SetFence(at);
  // Guardian and shims read the fence from this page, so that it works even if the keeper hangs.
  family_.page->SetFence(at);
  Send(SetFenceCommand{at, fence_falls_seen_, counted_from});
}

absl::Status Keeper::Impl::HoldLock(int fd) {
  // The byte for the guardian has no meaning, but a stream socket carries a descriptor only together with data.
  auto copy = std::make_shared<const UniqueFd>(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  if (!copy->is_open() || SendWithDescriptor(family_.guardian_socket->get(), "", 1, fd) != 1) {
    return absl::UnavailableError(absl::StrCat("the keeper can't hold the lock: ", std::strerror(errno)));
  }
  SendFrame(Encode(HoldLockCommand{}), std::move(copy));
  return absl::OkStatus();
}

void Keeper::Impl::SendFrame(const std::string& frame, std::shared_ptr<const UniqueFd> descriptor) {
  if (is_lost_) return;
  channel_.Send(frame, std::move(descriptor));
  if (channel_.pending_bytes() > kMaxUnsentBytes) ::shutdown(channel_.fd(), SHUT_RDWR);  // Poll reports KeeperLost
  UpdateWatch();
}

void Keeper::Impl::UpdateWatch() {
  uint32_t wanted = EPOLLIN;
  // A socket with room is writable at once: in this way an event of our own makes fd() readable.
  if (channel_.pending_bytes() > 0 || !own_events_.empty()) wanted |= EPOLLOUT;
  if (is_lost_ || wanted == watched_events_) return;
  epoll_event event{};
  event.events = wanted;
  ::epoll_ctl(epoll_.get(), watched_events_ == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, channel_.fd(), &event);
  watched_events_ = wanted;
}

std::vector<KeeperEvent> Keeper::Impl::Poll() {
  std::vector<KeeperEvent> events = std::exchange(own_events_, {});
  if (is_lost_) return events;
  channel_.Flush();
  std::vector<std::string> frames;
  bool is_open = channel_.Receive(frames);
  for (const std::string& frame : frames) {
    absl::StatusOr<KeeperEvent> event = DecodeEvent(frame);
    if (!event.ok()) {
      is_open = false;
      break;
    }
    if (std::holds_alternative<Pong>(*event)) {
      if (pulse_.Heard()) events.push_back(KeeperAnswers{});
      continue;
    }
    if (std::holds_alternative<FenceFell>(*event)) ++fence_falls_seen_;
    if (family_.is_isolated) TranslatePids(*event);
    if (const auto* left = std::get_if<Unkillable>(&*event)) unkillable_.insert(left->key);
    if (const auto* cleared = std::get_if<Cleared>(&*event)) unkillable_.erase(cleared->key);
    if (const auto* ended = std::get_if<Ended>(&*event); ended != nullptr && !ended->is_anything_left) {
      unkillable_.erase(ended->key);
    }
    events.push_back(*std::move(event));
  }
  if (is_open) {
    LookAtPulse(events);
  } else {
    Lose();
    events.push_back(KeeperLost{});
  }
  UpdateWatch();
  return events;
}

// Replaces the pids of the keeper's pid namespace by those that this process sees.
void Keeper::Impl::TranslatePids(KeeperEvent& event) {
  if (auto* started = std::get_if<Started>(&event)) {
    const int64_t inner = started->pid;
    started->pid = OuterPidBelow(family_.guardian, inner);
    outer_pids_[started->key.slot] = {inner, started->pid};
  } else if (auto* left = std::get_if<Unkillable>(&event)) {
    left->pid = OuterPidBelow(family_.guardian, left->pid);
  } else if (auto* output = std::get_if<OutputRead>(&event); output != nullptr && output->pid != 0) {
    const auto found = outer_pids_.find(output->key.slot);
    output->pid = found != outer_pids_.end() && found->second.first == output->pid ? found->second.second : 0;
  }
}

void Keeper::Impl::LookAtPulse(std::vector<KeeperEvent>& events) {
  const MonotonicTime now = BootTime();
  switch (pulse_.Look(now)) {
    case KeeperPulse::Finding::kNone:
      break;
    case KeeperPulse::Finding::kSilent:
      events.push_back(KeeperSilent{});
      break;
    case KeeperPulse::Finding::kGiveUp:
      Lose();
      events.push_back(KeeperLost{});
      return;
  }
  if (pulse_.WantsPing(now)) Send(PingCommand{});
}

void Keeper::Impl::Lose() {
  is_lost_ = true;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, channel_.fd(), nullptr);
  if (!is_reaped_) ::kill(family_.guardian, SIGKILL);  // the keeper ends with it
  // Waits for kLosePatience at most: a process that hangs must not make the agent hang too. The caller calls
  // KillAllDescendants next.
  const MonotonicTime deadline = BootTime() + kLosePatience;
  AwaitGuardian(deadline);
  // A keeper that was stopped (SIGSTOP) lives on as our child, now that the guardian is dead, and the helpers don't end
  // before it. If waitid succeeds, the keeper is our child and not reaped, so the pid can't mean another process.
  siginfo_t info{};
  const bool is_ours = ::waitid(P_PID, static_cast<id_t>(family_.keeper), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
  if (is_ours) ::kill(family_.keeper, SIGKILL);
  EndHelpers();
  WaitUntilNoneIsNamed(kShimName, kShimsTime);
}

void Keeper::Impl::EndHelpers() {
  const MonotonicTime deadline = BootTime() + kHelpersPatience;
  int lost_error = 0;
  for (auto it = helpers_.begin(); it != helpers_.end();) {
    if (EndHelper(*it, deadline, lost_error)) {
      Spared().erase(*it);
      it = helpers_.erase(it);
    } else {
      ++it;  // it ends when its file system answers; the agent doesn't wait for that
    }
  }
  if (lost_error == 0) return;
  constexpr absl::string_view kRemedy =
      "make room there, or send standard output elsewhere (--log_dir keeps each process's output as well)";
  Log(Severity::kWarning,
      absl::StrCat("output of the processes is lost: the file of standard output or error can't be written (",
                   std::strerror(lost_error), "); ", kRemedy));
}

bool Keeper::Impl::ReapGuardian() {
  if (!is_reaped_) is_reaped_ = ::waitpid(family_.guardian, nullptr, WNOHANG) != 0;
  return is_reaped_;
}

void Keeper::Impl::AwaitGuardian(MonotonicTime deadline) {
  if (!is_reaped_) AwaitChild(family_.guardian, deadline - BootTime());
  ReapGuardian();
}

bool Keeper::Impl::IsKeeperAtWork(MonotonicTime since) const {
  const MonotonicTime turn = family_.page->last_turn();
  return turn >= since && BootTime() - turn < kKeeperTurn + kTurnSlack;
}

void Keeper::Impl::End() {
  if (is_lost_) {
    KillDescendantsUntilNone(Spared(), kKillPatience).IgnoreError();
    return;
  }
  const MonotonicTime begin = BootTime();
  channel_.Send(Encode(EndCommand{}));
  // The keeper ends by itself once it has no children. The kernel then closes its end of the socket.
  bool is_open = true;
  const MonotonicTime deadline = begin + (unkillable_.empty() ? kEndPatience : kUnkillablePatience);
  while (is_open && BootTime() < deadline) {
    const short wanted = channel_.pending_bytes() > 0 ? POLLIN | POLLOUT : POLLIN;
    WaitFor(channel_.fd(), wanted, kEndLookPause);
    channel_.Flush();
    std::vector<std::string> frames;
    is_open = channel_.Receive(frames);
  }
  AwaitGuardian(deadline);
  if (is_reaped_ && !is_open) return EndHelpers();
  if (is_open && IsKeeperAtWork(begin)) return;  // it goes on killing; its helpers end with it
  Lose();
  KillDescendantsUntilNone(Spared(), kKillPatience).IgnoreError();
}

absl::StatusOr<std::unique_ptr<Keeper>> Keeper::Spawn(const KeeperOptions& options) {
  if (!HasOneThread()) {
    return absl::FailedPreconditionError("the keeper must be forked before the process has a second thread");
  }
  auto failed = [](const char* call) {
    const bool is_limit = errno == EAGAIN || errno == ENOMEM;
    const std::string why = std::strerror(errno);
    return absl::ResourceExhaustedError(
        absl::StrCat("can't start the keeper: ", call, ": ", why, is_limit ? TaskLimitInWords() : ""));
  };
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return failed("socketpair");
  UniqueFd ours(sockets[0]);
  UniqueFd keepers(sockets[1]);
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return failed("prctl(PR_SET_CHILD_SUBREAPER)");
  AgentWatch watch = AgentWatch::OfThisProcess();
  const absl::StatusOr<FencePage*> page = FencePage::Create(options.fence_stop_timeout);
  if (!page.ok()) return page.status();
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return failed("socketpair");
  auto to_guardian = std::make_shared<UniqueFd>(sockets[0]);
  UniqueFd guardians(sockets[1]);

  // All signals are blocked across the forks, so that no child runs a signal handler of the agent.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  absl::StatusOr<KeeperHelpers> helpers = KeeperHelpers::Fork();
  Impl::Family family;
  if (helpers.ok()) {
    const pid_t agent = ::getpid();
    family.guardian = ::fork();
    if (family.guardian == 0) {
      AgentWatch guardian = BecomeGuardian({agent, options.isolates_pids, watch, **page}, std::move(guardians));
      helpers->TakeStandardStreams();
      RunKeeper({std::move(keepers), std::move(helpers->logs.socket), std::move(helpers->files.socket)},
                {std::move(watch), std::move(guardian), *page}, options);
    }
  }
  const int fork_error = errno;
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  errno = fork_error;
  if (!helpers.ok()) return helpers.status();
  if (family.guardian < 0) return failed("fork");
  guardians.reset();  // so that ReadAll ends if the guardian dies before it reports
  GuardianReport report;
  if (ReadAll(to_guardian->get(), &report, sizeof report) && report.keeper != 0) {
    family.keeper = report.keeper;
    family.is_guarded = report.is_guarded;
    family.is_isolated = options.isolates_pids;
    family.helpers = helpers->pids();
    family.page = *page;
    family.guardian_socket = std::move(to_guardian);
    return std::unique_ptr<Keeper>(
        new Keeper(std::make_unique<Impl>(std::move(ours), std::move(family), options.stop_timeout)));
  }
  ::waitpid(family.guardian, nullptr, 0);
  if (report.why[0] != '\0') {
    return absl::FailedPreconditionError(
        absl::StrCat("--isolate pid is not possible here: ", report.why,
                     "; leave it out, or provide what it needs: root with CAP_SYS_ADMIN, or user namespaces (sysctl "
                     "user.max_user_namespaces, kernel.unprivileged_userns_clone, "
                     "kernel.apparmor_restrict_unprivileged_userns), and in a container a /proc that is not masked"));
  }
  errno = report.error;
  return failed("fork");
}

Keeper::Keeper(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Keeper::~Keeper() { impl_->End(); }

int Keeper::fd() const { return impl_->fd(); }
int64_t Keeper::pid() const { return impl_->family().keeper; }
bool Keeper::is_guarded() const { return impl_->family().is_guarded; }
bool Keeper::is_isolated() const { return impl_->family().is_isolated; }
std::vector<KeeperEvent> Keeper::Poll() { return impl_->Poll(); }
void Keeper::Start(const ProcessSpec& spec) { impl_->Start(spec); }
absl::Status Keeper::HoldLock(int fd) { return impl_->HoldLock(fd); }
void Keeper::StopAll(absl::Duration interrupt_time) { impl_->StopAll(interrupt_time); }
void Keeper::Stop(const ProcessKey& key) { impl_->Stop(key); }
void Keeper::KillAll() { impl_->KillAll(); }
void Keeper::Forward(int signal) { impl_->Send(ForwardCommand{signal}); }
void Keeper::ReadOutput(const OutputWish& wish) { impl_->Send(ReadOutputCommand{wish}); }
void Keeper::SetFence(MonotonicTime at, MonotonicTime counted_from) { impl_->SetFence(at, counted_from); }
void Keeper::BeginRun(const RunFolder& folder) { impl_->Send(BeginRunCommand{folder}); }
void Keeper::WriteFile(const std::string& path, const std::string& content) {
  impl_->Send(WriteFileCommand{path, content});
}
void Keeper::SetLastReport(const LastReportCommand& command) { impl_->SetLastReport(command); }

void Keeper::Spare(int64_t pid) { Spared().insert(static_cast<pid_t>(pid)); }
absl::Status Keeper::KillAllDescendants(absl::Duration patience) {
  return KillDescendantsUntilNone(Spared(), patience);
}

}  // namespace muster::agent
