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

constexpr int kLookIntoProcAfterMs = 80;  // a pause this long: see whether only zombies hold the group

// After a process that ended with 0. Python's helpers, for example, see within a few milliseconds that it is gone.
constexpr absl::Duration kMoment = absl::Milliseconds(200);
constexpr absl::Duration kNameEach = absl::Seconds(30);        // what is waited for
constexpr absl::Duration kJobsLook = absl::Milliseconds(100);  // at least between two looks for it

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
  // After a process that ended with 0, until its end is told.
  enum class Phase {
    kNone,
    kLingers,  // what it left has kMoment to end by itself
    kWaits,    // its background jobs are waited for
  };

  bool IsRunning() const { return leader_ > 0; }
  void Tell(ShimReport::Kind kind, int32_t value, const std::string& text = {}) const;
  void TellNotStarted(const LaunchError& error) const;
  void Send(ShimReport report) const;
  void TakeOrders();
  void Obey(const Order& order);
  void Stop();
  void Interrupt();
  void LetGoOn();
  void SignalLeft(int signal) const;
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
  pid_t group_ = 0;   // of the process; its pid
  pid_t leader_ = 0;  // the same until it is reaped, then 0
  int pause_ms_ = kFirstPauseMs;
  Phase phase_ = Phase::kNone;
  bool has_jobs_ = false;    // it has been in a phase: its session is meant where else its group is
  bool has_reaped_ = false;  // since the last look for what it left
  BackgroundJobs jobs_;
  MonotonicTime ended_at_;
  MonotonicTime looked_at_;
  MonotonicTime name_at_;
  Suspension suspension_;
  bool has_children_ = true;
  bool is_stopping_ = false;
  bool is_interrupted_ = false;  // and not told to stop since
  bool was_stopped_ = false;     // while it ran
  bool kills_ = false;
  bool has_said_that_it_cant_look_ = false;
};

void ShimProcess::Tell(ShimReport::Kind kind, int32_t value, const std::string& text) const {
  ShimReport report;
  report.kind = kind;
  report.value = value;
  text.copy(report.text, sizeof report.text - 1);
  Send(report);
}

void ShimProcess::TellNotStarted(const LaunchError& error) const {
  ShimReport report;
  report.kind = ShimReport::kNotStarted;
  report.value = error.exit_code;
  error.text.copy(report.text, sizeof report.text - 1);
  error.reason.copy(report.reason, sizeof report.reason - 1);
  error.remedy.copy(report.remedy, sizeof report.remedy - 1);
  Send(report);
}

void ShimProcess::Send(ShimReport report) const {
  report.at = report.kind == ShimReport::kEnded && ended_at_ != MonotonicTime() ? ended_at_ : BootTime();
  report.was_stopped = was_stopped_;
  // The socket has room for all that is ever told; without a keeper nobody is to be told.
  [[maybe_unused]] const ssize_t sent = ::send(socket_.get(), &report, sizeof report, MSG_NOSIGNAL);
}

void ShimProcess::Start(const ProcessSpec& spec, int stdout_fd, int stderr_fd) {
  ::prctl(PR_SET_PDEATHSIG, kParentDied);  // the keeper's death before this line is seen at the socket
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  children_ = Children::OfThisProcess();
  sigset_t child_signal;
  ::sigemptyset(&child_signal);
  ::sigaddset(&child_signal, SIGCHLD);
  signals_.reset(::signalfd(-1, &child_signal, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_.is_open()) {
    const int error = errno;
    TellNotStarted(MakeLaunchError(LaunchStep::kOther, error,
                                   absl::StrCat("its shim can't look after it: signalfd: ", std::strerror(error))));
    ::_exit(0);
  }
  if (const absl::Status marked = options_.mark ? options_.mark->Set() : absl::OkStatus(); !marked.ok()) {
    TellNotStarted(LaunchErrorOf(Reworded(marked, absl::StrCat("its shim can't mark it: ", marked.message()))));
    ::_exit(0);
  }
  absl::StatusOr<Spawned> spawned = SpawnProcess(spec, stdout_fd, stderr_fd, options_.open_files);
  if (!spawned.ok()) {
    TellNotStarted(LaunchErrorOf(spawned.status()));
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
    if (kills_ && !children_.Kill([](pid_t) { return false; }) && !std::exchange(has_said_that_it_cant_look_, true)) {
      Tell(ShimReport::kCantLook, 0, std::strerror(errno));
    }
    Wait();
  }
}

void ShimProcess::Wait() {
  pollfd ready[] = {{signals_.get(), POLLIN, 0}, {socket_.get(), POLLIN, 0}, {launch_report_.get(), POLLIN, 0}};
  const int count = ::poll(ready, 3, Timeout());
  if (kills_ || (!IsRunning() && phase_ != Phase::kWaits)) pause_ms_ = std::min(2 * pause_ms_, kLongestPauseMs);
  if (count <= 0) return;
  if (ready[2].revents != 0) ReadLaunchReport();
  if (ready[1].revents != 0) TakeOrders();
  signalfd_siginfo info[16];
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
  if (order.kind != Order::kForward) was_stopped_ = was_stopped_ || IsRunning() || phase_ != Phase::kNone;
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
      if (IsRunning()) ::kill(-group_, SIGKILL);  // nearly everybody, at once
      kills_ = true;
      pause_ms_ = kFirstPauseMs;
      return Tell(ShimReport::kKilling, 0);
    case Order::kSuspend:
      if (!suspension_.Begin(IsRunning() ? group_ : 0)) Tell(ShimReport::kCantLook, 0, std::strerror(errno));
      return;
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

void ShimProcess::SignalLeft(int signal) const {
  if (!kills_) agent::SignalLeft(has_jobs_ ? 0 : group_, signal, /*lets_go_on=*/suspension_.is_empty());
}

// What was stopped couldn't hear the signal.
void ShimProcess::LetGoOn() {
  if (suspension_.is_empty()) ::kill(-group_, SIGCONT);
}

void ShimProcess::ReadLaunchReport() {
  if (!launch_report_.is_open()) return;
  bool is_done = false;
  const std::optional<LaunchError> failure = agent::ReadLaunchReport(*spec_, launch_report_, is_done);
  if (!is_done) return;
  launch_report_.reset();
  if (failure.has_value()) return TellNotStarted(*failure);
  Tell(ShimReport::kStarted, group_);
}

void ShimProcess::Reap() {
  while (true) {
    // Looks before it reaps: as long as the dead process isn't reaped its number can't become another's, so its group
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
    if (is_leader) ReadLaunchReport();  // that it started is told before that it ended
    if (is_leader && !is_well) {
      if (!is_interrupted_) ::kill(-group_, is_stopping_ ? options_.stop_signal : SIGKILL);
      if (is_stopping_) ::kill(-group_, SIGCONT);
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
    Tell(ShimReport::kEnded, status);
  }
}

// Before anything else is reaped: the dead are still to be seen.
void ShimProcess::BeginPhase() {
  phase_ = Phase::kLingers;
  has_jobs_ = true;
  if (spec_->waits_for_background) jobs_.Begin(ended_at_);
}

void ShimProcess::LookAtLeft() {
  if (phase_ == Phase::kNone) return;
  if (kills_) {  // the fence, or the keeper is gone: it was not left to end
    was_stopped_ = true;
    return EndPhase();
  }
  const MonotonicTime now = BootTime();
  const bool is_due = phase_ == Phase::kLingers || now >= name_at_ || (has_reaped_ && now >= looked_at_ + kJobsLook);
  if (!is_due) return;
  has_reaped_ = false;
  looked_at_ = now;
  const std::optional<LeftProcesses> left = LookForLeft();
  if (!left.has_value() || left->empty()) return FinishPhase(0);
  if (phase_ == Phase::kLingers && now < ended_at_ + kMoment) return;
  if (!spec_->waits_for_background || left->jobs.empty()) {
    Tell(ShimReport::kLeaves, static_cast<int32_t>(left->jobs.size()), NamesOf(*left));
    return FinishPhase(0);
  }
  if (jobs_.has_failed()) return FailByJob();
  int unread = 0;  // a keeper that hangs shall have room for the end
  if ((phase_ != Phase::kWaits || now >= name_at_) && ::ioctl(socket_.get(), SIOCOUTQ, &unread) == 0 && unread == 0) {
    Tell(ShimReport::kWaits, static_cast<int32_t>(left->jobs.size()), NamesOf({left->jobs, {}}));
  }
  if (phase_ != Phase::kWaits || now >= name_at_) name_at_ = now + kNameEach;
  phase_ = Phase::kWaits;
}

void ShimProcess::FailByJob() {
  Tell(ShimReport::kJobFailed, 0, jobs_.failure());
  FinishPhase(jobs_.failed_status());
}

void ShimProcess::FinishPhase(int status) {
  phase_ = Phase::kNone;
  kills_ = true;
  pause_ms_ = kFirstPauseMs;
  Tell(ShimReport::kEnded, status);
}

// By an order: what is left has the time that a stop gives.
void ShimProcess::EndPhase() {
  if (std::exchange(phase_, Phase::kNone) == Phase::kNone) return;
  pause_ms_ = kFirstPauseMs;
  Tell(ShimReport::kEnded, 0);
}

// After a stop: once nobody of the group is left, nobody is left that was given time.
void ShimProcess::LookAtGroup() {
  if (IsRunning() || kills_ || phase_ != Phase::kNone) return;
  const bool is_empty = !has_jobs_ && ::kill(-group_, 0) != 0 && errno == ESRCH;
  if (!is_empty && pause_ms_ < kLookIntoProcAfterMs) return;
  // A zombie whose living parent is elsewhere would hold the group for ever.
  std::optional<std::vector<ProcessInfo>> living = std::vector<ProcessInfo>();
  if (has_jobs_) {
    std::optional<LeftProcesses> left = LookForLeft();
    living = left.has_value() ? std::optional(std::move(left->jobs)) : std::nullopt;
  } else if (!is_empty) {
    living = LivingMembers(group_);
  }
  if (!living.has_value()) return;
  kills_ = living->empty();
  const auto is_deaf = [](const ProcessInfo& process) { return Ignores(process.pid, SIGINT); };
  if (!kills_ && is_interrupted_ && std::all_of(living->begin(), living->end(), is_deaf)) Stop();
}

}  // namespace

absl::StatusOr<Shim> Shim::Start(const ProcessSpec& spec, int stdout_fd, int stderr_fd, const ShimOptions& options) {
  int sockets[2];
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
  // One that doesn't fit is lost: a shim that has read nothing for so long is stopped, and will be killed.
  [[maybe_unused]] const ssize_t sent = ::send(socket_.get(), &order, sizeof order, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void Shim::Forward(int signal) const { SendOrder(Order::kForward, signal); }
void Shim::Stop() const { SendOrder(Order::kStop, 0); }
void Shim::Interrupt() const { SendOrder(Order::kInterrupt, 0); }
void Shim::Kill() const { SendOrder(Order::kKill, 0); }
void Shim::Suspend() const { SendOrder(Order::kSuspend, 0); }
void Shim::Resume() const { SendOrder(Order::kResume, 0); }

std::vector<ShimReport> ReadShimReports(int socket, bool& is_open) {
  std::vector<ShimReport> reports;
  while (true) {
    ShimReport report;
    const ssize_t n = ::recv(socket, &report, sizeof report, MSG_DONTWAIT);
    // ECONNRESET, once: it ended with orders unread. What it had told before is still to come.
    if (n < 0 && (errno == EINTR || errno == ECONNRESET)) continue;
    is_open = n > 0 || (n < 0 && errno == EAGAIN);
    if (n != sizeof report) return reports;
    for (char* end : {&report.text[sizeof report.text - 1], &report.reason[sizeof report.reason - 1],
                      &report.remedy[sizeof report.remedy - 1]}) {
      *end = '\0';
    }
    reports.push_back(report);
  }
}

}  // namespace muster::agent
