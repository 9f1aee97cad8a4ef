#include "worker_agent/keeper/shim/shim.h"

#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/os_error.h"
#include "worker_agent/keeper/boottime.h"
#include "worker_agent/keeper/process/children.h"
#include "worker_agent/keeper/process/descendants.h"
#include "worker_agent/keeper/process/guardian.h"
#include "worker_agent/keeper/process/own_process.h"
#include "worker_agent/keeper/process/spawn.h"
#include "worker_agent/keeper/shim/left_processes.h"
#include "worker_agent/keeper/shim/suspension.h"

namespace muster::agent {
namespace {

constexpr int kLookIntoProcAfterMs = 80;  // after a pause this long, looks in /proc whether the group has only zombies

// When a process has ended with 0, the processes that it has left get this time to end by themselves. Python's helpers,
// for example, notice its end within a few milliseconds.
constexpr absl::Duration kMoment = absl::Milliseconds(200);
constexpr absl::Duration kNameEach = absl::Seconds(30);        // how often the shim names the jobs that it waits for
constexpr absl::Duration kJobsLook = absl::Milliseconds(100);  // the shortest time between two looks for jobs

struct Order {
  enum Kind : int32_t { kForward, kStop, kInterrupt, kKill, kSuspend, kResume };
  Kind kind = kKill;
  int32_t signal = 0;
};

int NumberOf(const std::shared_ptr<const UniqueFd>& descriptor) {
  return descriptor == nullptr ? -1 : descriptor->get();
}

class ShimProcess {
 public:
  ShimProcess(UniqueFd socket, const ShimOptions& options)
      : socket_(std::move(socket)), options_(options), fence_(*options.page) {}
  void Start(const ProcessSpec& spec, int stdout_fd, int stderr_fd);
  [[noreturn]] void Run();

 private:
  // The phases between the end of a process that ended with 0 and the report of this end.
  enum class Phase {
    kNone,
    kLingers,  // the processes that it left have kMoment to end by themselves
    kWaits,    // the shim waits for its background jobs
  };

  bool IsRunning() const { return leader_ > 0; }
  // Returns true while the process runs, or while the shim waits for its background jobs. Processes that only linger
  // don't count.
  bool IsUnderWay() const { return IsRunning() || (phase_ != Phase::kNone && spec_->waits_for_background); }
  void Report(ShimReport::Kind kind, int32_t value, const std::string& text = {}) const;
  void ReportNotStarted(const LaunchError& error) const;
  void ReportCantLook(bool& has_reported, const char* why) const;
  void Send(ShimReport report) const;
  void TakeOrders();
  void Obey(const Order& order);
  void Stop();
  void Interrupt();
  void LetGoOn();
  void SignalLeft(int signal);
  void ReadLaunchReport();
  void Reap();
  void LookAtGroup();
  void BeginPhase();
  void LookAtLeft();
  void FailByJob();
  void FinishPhase(int status);
  void EndPhase();
  int Timeout() const;
  void Wait();

  UniqueFd socket_;
  const ShimOptions options_;
  FenceWatch fence_;
  const ProcessSpec* spec_ = nullptr;
  UniqueFd signals_;
  UniqueFd launch_report_;
  Children children_;
  pid_t group_ = 0;   // the process's group; its number is the process's pid
  pid_t leader_ = 0;  // the process's pid; 0 once it is reaped
  int pause_ms_ = kFirstPauseMs;
  Phase phase_ = Phase::kNone;
  bool has_had_phase_ = false;  // after a phase, signals go to the session; before, to the group
  bool has_reaped_ = false;     // a child was reaped since the last look for jobs
  BackgroundJobs jobs_;
  MonotonicTime ended_at_;
  MonotonicTime looked_at_;
  MonotonicTime name_at_;
  Suspension suspension_;
  bool has_children_ = true;
  bool is_stopping_ = false;
  bool is_interrupted_ = false;  // had an order to interrupt, and none to stop since
  bool was_stopped_ = false;     // had an order to stop while the process was under way
  bool kills_ = false;
  bool has_said_that_it_cant_look_ = false;  // kCantLook was sent because it can't see what is left
  bool has_said_that_it_cant_kill_ = false;  // the same because it can't kill what is left
};

void ShimProcess::Report(ShimReport::Kind kind, int32_t value, const std::string& text) const {
  Send(MakeShimReport(kind, value, text));
}

void ShimProcess::ReportNotStarted(const LaunchError& error) const {
  Send(MakeShimReport(ShimReport::kNotStarted, error.exit_code, error.text, error.reason, error.remedy));
}

void ShimProcess::Send(ShimReport report) const {
  report.at = report.kind == ShimReport::kEnded && ended_at_ != MonotonicTime() ? ended_at_ : BootTime();
  report.was_stopped = was_stopped_;
  SendShimReport(socket_.get(), report);
}

// Reports this only once, because the shim looks again and again.
void ShimProcess::ReportCantLook(bool& has_reported, const char* why) const {
  if (!std::exchange(has_reported, true)) Report(ShimReport::kCantLook, 0, why);
}

void ShimProcess::Start(const ProcessSpec& spec, int stdout_fd, int stderr_fd) {
  ::prctl(PR_SET_PDEATHSIG, kParentDied);  // if the keeper died before this line, the closed socket shows it
  AdoptOrphans();
  children_ = Children::OfThisProcess();
  sigset_t child_signal;
  ::sigemptyset(&child_signal);
  ::sigaddset(&child_signal, SIGCHLD);
  signals_.reset(::signalfd(-1, &child_signal, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_.is_open()) {
    const int error = errno;
    ReportNotStarted(MakeLaunchError(
        LaunchStep::kOther, error, absl::StrCat("the shim can't watch the process: signalfd: ", std::strerror(error))));
    ::_exit(0);
  }
  if (const absl::Status marked = options_.mark ? options_.mark->Set() : absl::OkStatus(); !marked.ok()) {
    ReportNotStarted(
        LaunchErrorOf(Reworded(marked, absl::StrCat("the shim can't mark the process: ", marked.message()))));
    ::_exit(0);
  }
  absl::StatusOr<Spawned> spawned = SpawnProcess(spec, stdout_fd, stderr_fd, options_.open_files);
  if (!spawned.ok()) {
    ReportNotStarted(LaunchErrorOf(spawned.status()));
    ::_exit(0);
  }
  spec_ = &spec;
  leader_ = group_ = spawned->pid;
  launch_report_ = std::move(spawned->launch_report);
}

void ShimProcess::Run() {
  while (true) {
    Reap();
    if (!has_children_) {
      if (phase_ != Phase::kNone) FinishPhase(0);
      ::_exit(0);
    }
    if (fence_.IsOverdue(BootTime())) kills_ = true;
    LookAtLeft();
    LookAtGroup();
    if (kills_ && !children_.Kill([](pid_t) { return false; })) {
      ReportCantLook(has_said_that_it_cant_kill_, std::strerror(errno));
    }
    Wait();
  }
}

void ShimProcess::Wait() {
  // A descriptor that is closed is -1, and poll ignores it.
  pollfd ready[] = {{signals_.get(), POLLIN, 0}, {socket_.get(), POLLIN, 0}, {launch_report_.get(), POLLIN, 0}};
  const int count = ::poll(ready, 3, Timeout());
  if (kills_ || (!IsRunning() && phase_ != Phase::kWaits)) pause_ms_ = std::min(2 * pause_ms_, kMaxPauseMs);
  if (count <= 0) return;
  if (ready[2].revents != 0) ReadLaunchReport();
  if (ready[1].revents != 0) {
    Reap();  // a process that has ended before the order came has ended by itself
    TakeOrders();
  }
  signalfd_siginfo info[16];
  // One SIGCHLD may stand for several deaths, so this only empties the queue: Reap asks the kernel for each.
  while (ready[0].revents != 0 && ::read(signals_.get(), info, sizeof info) > 0) {
  }
}

int ShimProcess::Timeout() const {
  if (phase_ == Phase::kWaits && has_reaped_) return static_cast<int>(absl::ToInt64Milliseconds(kJobsLook));
  return kills_ || (!IsRunning() && phase_ != Phase::kWaits) ? pause_ms_ : fence_.look_ms();
}

void ShimProcess::TakeOrders() {
  while (true) {
    Order order;
    const ssize_t n = ::recv(socket_.get(), &order, sizeof order, MSG_DONTWAIT);
    if (n == sizeof order) {
      Obey(order);
      continue;
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    kills_ = true;  // the keeper is gone
    socket_.reset();
    return;
  }
}

void ShimProcess::Obey(const Order& order) {
  if (order.kind != Order::kForward) was_stopped_ = was_stopped_ || IsUnderWay();
  switch (order.kind) {
    case Order::kForward:
      if (IsRunning()) ::kill(leader_, order.signal);
      if (phase_ != Phase::kNone) SignalLeft(order.signal);
      return;
    case Order::kStop:
      return Stop();
    case Order::kInterrupt:
      return Interrupt();
    case Order::kKill:
      if (IsRunning()) ::kill(-group_, SIGKILL);  // kills nearly all descendants at once; Run kills the rest
      kills_ = true;
      pause_ms_ = kFirstPauseMs;
      return Report(ShimReport::kKilling, 0);
    case Order::kSuspend:
      if (suspension_.Begin(IsRunning() ? group_ : 0)) return;
      return ReportCantLook(has_said_that_it_cant_look_, std::strerror(errno));
    case Order::kResume:
      return suspension_.End(IsRunning() ? group_ : 0);
  }
}

void ShimProcess::Stop() {
  is_stopping_ = true;
  const bool was_interrupted = std::exchange(is_interrupted_, false);
  if (IsRunning()) {
    ::kill(leader_, options_.stop_signal);
    LetGoOn();
  } else if (was_interrupted || phase_ != Phase::kNone) {
    SignalLeft(options_.stop_signal);
    EndPhase();
  }
}

void ShimProcess::Interrupt() {
  if (!IsRunning() && phase_ == Phase::kNone) return;
  is_stopping_ = is_interrupted_ = true;
  if (IsRunning()) {
    ::kill(-group_, SIGINT);
    LetGoOn();
  } else {
    SignalLeft(SIGINT);
    EndPhase();
  }
}

void ShimProcess::SignalLeft(int signal) {
  if (kills_) return;
  const pid_t group = has_had_phase_ ? 0 : group_;
  if (!agent::SignalLeft(children_, group, signal, /*lets_go_on=*/suspension_.is_empty())) {
    ReportCantLook(has_said_that_it_cant_look_, std::strerror(errno));
  }
}

// Sends SIGCONT, because a stopped process takes another signal only once it goes on. A suspended process must stay
// stopped.
void ShimProcess::LetGoOn() {
  if (suspension_.is_empty()) ::kill(-group_, SIGCONT);
}

void ShimProcess::ReadLaunchReport() {
  if (!launch_report_.is_open()) return;
  bool is_done = false;
  const std::optional<LaunchError> failure = agent::ReadLaunchReport(*spec_, launch_report_, is_done);
  if (!is_done) return;
  launch_report_.reset();
  if (failure.has_value()) return ReportNotStarted(*failure);
  Report(ShimReport::kStarted, group_);
}

void ShimProcess::Reap() {
  while (true) {
    // Looks before it reaps. As long as the dead process isn't reaped, its pid can't mean another process, so its group
    // can be signalled safely.
    siginfo_t info{};
    const int result = ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT);
    if (result != 0 && errno == EINTR) continue;
    if (result != 0) has_children_ = false;  // ECHILD
    if (result != 0 || info.si_pid == 0) return;
    const bool is_leader = IsRunning() && info.si_pid == leader_;
    const bool is_well = WaitStatusOf(info) == 0 && !is_stopping_;
    if (phase_ != Phase::kNone) {
      has_reaped_ = true;
      if (jobs_.NoteEnd(info)) FailByJob();
    }
    if (is_leader) ReadLaunchReport();  // the start is reported before the end
    if (is_leader && !is_well) {
      if (!is_interrupted_) ::kill(-group_, is_stopping_ ? options_.stop_signal : SIGKILL);
      if (is_stopping_) LetGoOn();
    }
    int status = 0;
    ::waitpid(info.si_pid, &status, 0);
    if (!is_leader) continue;
    leader_ = 0;
    pause_ms_ = kFirstPauseMs;
    ended_at_ = BootTime();
    if (is_well && !kills_) {
      BeginPhase();
      continue;
    }
    kills_ = kills_ || !is_stopping_;
    Report(ShimReport::kEnded, status);
  }
}

// Must be called before any other child is reaped, because only then dead jobs can still be seen.
void ShimProcess::BeginPhase() {
  phase_ = Phase::kLingers;
  has_had_phase_ = true;
  if (spec_->waits_for_background) jobs_.Begin(children_, ended_at_);
}

void ShimProcess::LookAtLeft() {
  if (phase_ == Phase::kNone) return;
  if (kills_) {  // an order, the fence or the keeper's end cut the wait short
    was_stopped_ = was_stopped_ || IsUnderWay();
    return FinishPhase(0);
  }
  const MonotonicTime now = BootTime();
  const bool is_name_due = phase_ == Phase::kWaits && now >= name_at_;
  const bool is_due = phase_ == Phase::kLingers ? now >= ended_at_ + kMoment
                                                : is_name_due || (has_reaped_ && now >= looked_at_ + kJobsLook);
  if (!is_due) return;
  has_reaped_ = false;
  looked_at_ = now;
  const std::optional<LeftProcesses> left = LookForLeft();
  const int error = errno;
  const bool is_any_seen = left.has_value() && !left->empty();
  if (!spec_->waits_for_background || (is_any_seen && left->jobs.empty())) {
    if (is_any_seen) Report(ShimReport::kLeaves, static_cast<int32_t>(left->jobs.size()), NamesOf(*left));
    return FinishPhase(0);
  }
  // If /proc can't be read, jobs may still live: only Reap finds out that no child is left.
  if (jobs_.has_failed() && (is_any_seen || !left.has_value())) return FailByJob();
  if (!left.has_value()) ReportCantLook(has_said_that_it_cant_look_, std::strerror(error));
  if (is_name_due && !is_any_seen) ReportCantLook(has_said_that_it_cant_look_, "it shows no child of the shim");
  if (phase_ != Phase::kLingers && !is_name_due) return;
  int unread = 0;  // bytes; 0 leaves room for kEnded even if the keeper hangs
  if (is_any_seen && ::ioctl(socket_.get(), SIOCOUTQ, &unread) == 0 && unread == 0) {
    Report(ShimReport::kWaits, static_cast<int32_t>(left->jobs.size()), NamesOf({left->jobs, {}}));
  }
  name_at_ = now + kNameEach;
  phase_ = Phase::kWaits;
}

void ShimProcess::FailByJob() {
  Report(ShimReport::kJobFailed, 0, jobs_.failure());
  FinishPhase(jobs_.failed_status());
}

void ShimProcess::FinishPhase(int status) {
  phase_ = Phase::kNone;
  kills_ = true;
  pause_ms_ = kFirstPauseMs;
  Report(ShimReport::kEnded, status);
}

// Called for an order to stop or to interrupt: reports the end now. Background jobs then get the time that a stop
// gives. Processes that only linger get their kMoment and no more.
void ShimProcess::EndPhase() {
  if (!IsUnderWay()) return;
  phase_ = Phase::kNone;
  pause_ms_ = kFirstPauseMs;
  Report(ShimReport::kEnded, 0);
}

// After a stop: kills all descendants once the group is empty, because only the group was given time.
void ShimProcess::LookAtGroup() {
  if (IsRunning() || kills_ || phase_ != Phase::kNone) return;
  const bool is_empty = !has_had_phase_ && ::kill(-group_, 0) != 0 && errno == ESRCH;
  if (!is_empty && pause_ms_ < kLookIntoProcAfterMs) return;
  // The group may contain only zombies. One that has a living parent elsewhere is never reaped here, so the group may
  // never be empty.
  std::optional<std::vector<ProcessInfo>> living = std::vector<ProcessInfo>();
  if (has_had_phase_) {
    std::optional<LeftProcesses> left = LookForLeft();
    living = left.has_value() ? std::optional(std::move(left->jobs)) : std::nullopt;
  } else if (!is_empty) {
    living = LivingMembers(group_);
  }
  if (!living.has_value()) return;
  kills_ = living->empty();
  const auto ignores_interrupt = [](const ProcessInfo& process) { return Ignores(process.pid, SIGINT); };
  if (!kills_ && is_interrupted_ && std::all_of(living->begin(), living->end(), ignores_interrupt)) Stop();
}

}  // namespace

absl::StatusOr<Shim> Shim::Start(const ProcessSpec& spec, int stdout_fd, int stderr_fd, const ShimOptions& options) {
  int sockets[2];
  // Each packet is a whole order or report. A stream could split or join them.
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
    return At(LaunchStep::kStreams, OsError(absl::StatusCode::kResourceExhausted, "socketpair", errno));
  }
  UniqueFd ours(sockets[0]);
  UniqueFd theirs(sockets[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return ForkError();
  if (pid > 0) return Shim(pid, std::move(ours));
  const int handed_over = NumberOf(spec.hand_over.descriptor);
  BecomeOwnProcess(kShimName, {theirs.get(), stdout_fd, stderr_fd, handed_over, NumberOf(options.lock)});
  ShimProcess shim(std::move(theirs), options);
  shim.Start(spec, stdout_fd, stderr_fd);
  for (const int fd : std::set<int>{stdout_fd, stderr_fd, handed_over}) ::close(fd);
  LeaveStandardStreams();
  shim.Run();
}

void Shim::SendOrder(int32_t kind, int32_t signal) const {
  const Order order{static_cast<Order::Kind>(kind), signal};
  // An order for which there is no room is dropped: a shim that has read nothing for so long was stopped (SIGSTOP), and
  // the keeper will kill it.
  [[maybe_unused]] const ssize_t sent = ::send(socket_.get(), &order, sizeof order, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void Shim::Forward(int signal) const { SendOrder(Order::kForward, signal); }
void Shim::Stop() const { SendOrder(Order::kStop, 0); }
void Shim::Interrupt() const { SendOrder(Order::kInterrupt, 0); }
void Shim::Kill() const { SendOrder(Order::kKill, 0); }
void Shim::Suspend() const { SendOrder(Order::kSuspend, 0); }
void Shim::Resume() const { SendOrder(Order::kResume, 0); }

}  // namespace muster::agent
