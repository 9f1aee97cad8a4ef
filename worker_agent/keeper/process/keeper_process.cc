#include "worker_agent/keeper/process/keeper_process.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/sys/room.h"
#include "common/sys/wait.h"
#include "worker_agent/keeper/boottime.h"
#include "worker_agent/keeper/callback_poller.h"
#include "worker_agent/keeper/channel.h"
#include "worker_agent/keeper/clock_jumps.h"
#include "worker_agent/keeper/files/file_helper.h"
#include "worker_agent/keeper/files/output.h"
#include "worker_agent/keeper/process/guardian.h"
#include "worker_agent/keeper/process/last_report.h"
#include "worker_agent/keeper/process/own_process.h"
#include "worker_agent/keeper/supervisor/supervisor.h"
#include "worker_agent/keeper/wire.h"

namespace muster::agent {
namespace {

constexpr MonotonicTime kNever = MonotonicTime::Never();
// If the agent leaves this much unread, the keeper takes no more commands from it.
constexpr size_t kMaxUnreadBytes = 64 * 1024 * 1024;
// The longest wait at the keeper's end for a terminal that takes its output slowly. The wait is short if the agent has
// died, because the last report must not wait.
constexpr absl::Duration kLastOutputPatience = absl::Seconds(2);
constexpr absl::Duration kLastOutputOfDeadPatience = absl::Milliseconds(100);
// The longest wait at the keeper's end for the disk to take the logs; less if the file system hangs.
constexpr absl::Duration kLastLogPatience = absl::Seconds(4);
constexpr absl::Duration kLastLogOfHungPatience = absl::Seconds(1);
constexpr absl::Duration kLastLookPause = absl::Milliseconds(20);
// Shorter jumps of the wall clock are ignored: they are not longer than the interval of heartbeats.
constexpr absl::Duration kLeastJump = absl::Seconds(2);
constexpr absl::Duration kAgentDeathPatience = absl::Seconds(10);  // from a broken socket to the agent's death
// The time for all processes to end after the guardian's death.
constexpr absl::Duration kHangUpAfter = absl::Seconds(2);

class KeeperProcess {
 public:
  KeeperProcess(KeeperSockets sockets, KeeperFamily family, const KeeperOptions& options,
                const ShimOptions& shim_options);
  void Run();

 private:
  // The reason why the keeper's work ends.
  enum class Ending { kNone, kInOrder, kAgentDied, kGuardianDied };

  void WatchSocket();
  void ReadCommands();
  void Obey(StartCommand& command);
  void Obey(StopCommand& command) { supervisor_.Stop(command.key); }
  void Obey(StopAllCommand& command);
  void Obey(KillAllCommand&) { supervisor_.KillAll(); }
  void Obey(ForwardCommand& command) { supervisor_.Forward(command.signal); }
  void Obey(SetFenceCommand& command);
  void Obey(LastReportCommand& command) { last_report_ = std::move(command); }
  void Obey(EndCommand&) { End(Ending::kInOrder); }
  void Obey(BeginRunCommand& command) { logs_.BeginRun(command.folder); }
  void Obey(WriteFileCommand& command) { logs_.WriteFile(command.path, command.content); }
  void Obey(HoldLockCommand&) { supervisor_.HoldLock(channel_.TakeDescriptor()); }
  void Obey(ReadOutputCommand& command) { channel_.Send(Encode(supervisor_.ReadOutput(command.wish))); }
  void Obey(PingCommand&) { channel_.Send(Encode(Pong{})); }
  void Say(const std::string& line) { live_.error().WriteLines(absl::StrCat("ms-worker: ", line, "\n"), BootTime()); }

  void ReadSignals();
  void OnAgentGone();
  void OnGuardianGone();
  void End(Ending ending);
  void CheckFence();
  void OnClockSet();
  void DropFence(MonotonicTime since);
  void HangUp();
  void LeaveTerminal();
  void SetTimer();
  void FlushLastOutput(absl::Duration patience);
  void FlushLogs();
  void SendLastReport();

  AgentWatch guardian_;
  const absl::Duration fence_stop_timeout_;
  const pid_t parent_ = ::getppid();  // the guardian; 0 if the keeper has a pid namespace of its own
  FencePage* const page_;
  CallbackPoller poller_;
  Channel channel_;
  AgentWatch agent_;
  UniqueFd signals_;
  UniqueFd timer_;
  LiveOutputs live_;
  FileHelper logs_;
  FileHelper files_;  // for the error files, which usually are on another file system than the logs
  Supervisor supervisor_;
  LastReportCommand last_report_;
  std::optional<ExitStatus> fate_;
  Ending ending_ = Ending::kNone;
  MonotonicTime fence_ = kNever;
  uint32_t fence_falls_ = 0;
  bool is_fence_down_ = false;  // the fence fell and was not set again
  ClockJumps clock_jumps_;
  // When the wall clock jumped and the processes were suspended; Never(): they are not suspended.
  MonotonicTime doubts_since_ = kNever;
  MonotonicTime last_jump_ = kNever;  // when the wall clock jumped last
  MonotonicTime hang_up_at_ = kNever;
  MonotonicTime timer_set_to_ = kNever;
};

KeeperProcess::KeeperProcess(KeeperSockets sockets, KeeperFamily family, const KeeperOptions& options,
                             const ShimOptions& shim_options)
    : guardian_(std::move(family.guardian)),
      fence_stop_timeout_(options.fence_stop_timeout),
      page_(family.page),
      channel_(std::move(sockets.agent)),
      agent_(std::move(family.agent)),
      timer_(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)),
      live_(STDOUT_FILENO, STDERR_FILENO),
      logs_(std::move(sockets.logs), poller_, [this](const std::string& line) { Say(line); }),
      files_(std::move(sockets.files), poller_, [this](const std::string& line) { Say(line); }),
      supervisor_(poller_, {live_, logs_, files_}, options, shim_options, [this](const KeeperEvent& event) {
        if (ending_ == Ending::kNone) channel_.Send(Encode(event));
      }) {
  sigset_t heard;
  ::sigemptyset(&heard);
  ::sigaddset(&heard, SIGCHLD);
  ::sigaddset(&heard, kParentDied);
  signals_.reset(::signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK));
  MUSTER_CHECK(timer_.is_open() && signals_.is_open(), "timerfd or signalfd failed");
  poller_.Watch(signals_.get(), EPOLLIN, [this] { ReadSignals(); });
  poller_.Watch(timer_.get(), EPOLLIN, [this] {
    uint64_t count = 0;
    [[maybe_unused]] ssize_t n = ::read(timer_.get(), &count, sizeof count);
    timer_set_to_ = kNever;
  });
  if (clock_jumps_.fd() >= 0) poller_.Watch(clock_jumps_.fd(), EPOLLIN, [this] { OnClockSet(); });
  if (guardian_.fd() >= 0) poller_.Watch(guardian_.fd(), EPOLLIN, [this] { OnGuardianGone(); });
  if (agent_.fd() >= 0) poller_.Watch(agent_.fd(), EPOLLIN, [this] { OnAgentGone(); });
}

void KeeperProcess::Run() {
  while (true) {
    page_->NoteTurn(BootTime());
    CheckFence();  // first, because processes that the fence leaves no time must be killed in this turn
    supervisor_.RunDeadlines();
    logs_.RunDeadlines(BootTime());
    files_.RunDeadlines(BootTime());
    live_.UpdateWatches(poller_);
    WatchSocket();
    if (ending_ != Ending::kNone && !supervisor_.HasChildren()) break;
    if (BootTime() >= hang_up_at_) HangUp();
    SetTimer();
    poller_.Wait();
  }
  // The last report is sent if the agent is dead, also when `ending_` has another reason: agent and guardian may have
  // died together. An agent that ended as planned may have ended before all processes were gone; now they are.
  if (ending_ == Ending::kAgentDied || agent_.IsDead()) {
    FlushLastOutput(kLastOutputOfDeadPatience);
    SendLastReport();
  }
  FlushLastOutput(kLastOutputPatience);
  FlushLogs();
}

// ------------------------------------------------------------------------------------------------------- the agent

void KeeperProcess::WatchSocket() {
  if (ending_ != Ending::kNone) return;
  uint32_t events = 0;
  if (channel_.pending_bytes() > 0) events |= EPOLLOUT;
  if (channel_.pending_bytes() < kMaxUnreadBytes) events |= EPOLLIN;
  poller_.Watch(channel_.fd(), events, [this] { ReadCommands(); });
}

void KeeperProcess::ReadCommands() {
  channel_.Flush();
  std::vector<std::string> frames;
  bool is_open = channel_.Receive(frames);
  for (const std::string& frame : frames) {
    absl::StatusOr<KeeperCommand> command = DecodeCommand(frame);
    if (!command.ok()) is_open = false;  // the agent's memory is corrupt, so it can't be trusted with the processes
    if (!command.ok() || ending_ != Ending::kNone) break;
    if (HandOver* hand_over = HandOverOf(*command)) hand_over->descriptor = channel_.TakeDescriptor();
    std::visit([this](auto& kind) { Obey(kind); }, *command);
  }
  if (!is_open) OnAgentGone();
}

void KeeperProcess::Obey(StartCommand& command) {
  CheckFence();
  // The fence does not cover a process that starts now, and another node may have its rank.
  if (is_fence_down_) return supervisor_.Refuse(command.spec.key);
  supervisor_.Start(command.spec);
}

void KeeperProcess::Obey(StopAllCommand& command) {
  if (command.interrupt_ms == 0) return supervisor_.StopAll();
  supervisor_.InterruptAll(absl::Milliseconds(command.interrupt_ms));
}

void KeeperProcess::Obey(SetFenceCommand& command) {
  // The new fence applies even if the previous one has fallen meanwhile, because it counts from a heartbeat that was
  // answered.
  fence_ = command.at;
  // If the agent did not know of the last fall yet, the new fence covers only processes from before that fall.
  if (command.fence_falls_seen == fence_falls_) is_fence_down_ = false;
  const bool is_settled = command.at == kNever || command.counted_from >= last_jump_;
  if (doubts_since_ == kNever || !is_settled) return;
  doubts_since_ = kNever;
  supervisor_.Resume();
}

void KeeperProcess::CheckFence() {
  if (ending_ != Ending::kNone) return;
  // Suspended processes could not use a time to stop, so they are killed at once.
  if (BootTime() >= fence_) return DropFence(doubts_since_ == kNever ? fence_ : BootTime() - fence_stop_timeout_);
  // The scheduler has not confirmed within kClockDoubt that the ranks are still this node's. Other nodes may have them,
  // so the processes are killed at once.
  if (doubts_since_ == kNever || BootTime() < doubts_since_ + kClockDoubt) return;
  // Guardian and shims know only the fence that was set. From this note they learn that they need not act on it.
  page_->NoteObeyed(fence_);
  DropFence(BootTime() - fence_stop_timeout_);
}

void KeeperProcess::DropFence(MonotonicTime since) {
  supervisor_.FenceFell(since);
  fence_ = doubts_since_ = kNever;
  ++fence_falls_;
  is_fence_down_ = true;
  channel_.Send(Encode(FenceFell{}));
}

void KeeperProcess::OnClockSet() {
  const absl::Duration jump = clock_jumps_.Take();
  if (jump < kLeastJump || fence_ == kNever || ending_ != Ending::kNone) return;
  last_jump_ = BootTime();  // an answer to a heartbeat from before the last jump confirms nothing
  if (doubts_since_ == kNever) {
    doubts_since_ = last_jump_;
    supervisor_.Suspend();
  }
  channel_.Send(Encode(ClockJumped{absl::ToInt64Milliseconds(jump)}));
}

void KeeperProcess::OnAgentGone() {
  // Reads the exit status at once: on older kernels it is there only until the agent's parent has reaped the agent.
  if (!fate_.has_value()) fate_ = agent_.ReadFate();
  if (agent_.fd() >= 0 && agent_.IsDead()) poller_.Forget(agent_.fd());
  if (ending_ == Ending::kInOrder) LeaveTerminal();
  End(Ending::kAgentDied);
}

void KeeperProcess::OnGuardianGone() {
  poller_.Forget(guardian_.fd());
  End(Ending::kGuardianDied);
}

void KeeperProcess::End(Ending ending) {
  if (ending_ != Ending::kNone) return;
  ending_ = ending;
  if (ending == Ending::kGuardianDied) hang_up_at_ = BootTime() + kHangUpAfter;
  poller_.Forget(channel_.fd());
  supervisor_.KillForGood();
  supervisor_.Reap();
}

// Some process hangs, and without a guardian the keeper sends no more reports. Closes the socket, so that the agent
// learns that it has lost its keeper.
void KeeperProcess::HangUp() {
  hang_up_at_ = kNever;
  ::shutdown(channel_.fd(), SHUT_RDWR);
}

// ------------------------------------------------------------------------------------------------- signals and time

void KeeperProcess::ReadSignals() {
  // The details of the signals are not used: Linux merges equal signals, so one SIGCHLD may stand for several children.
  signalfd_siginfo info[16];
  while (::read(signals_.get(), info, sizeof info) > 0) {
  }
  supervisor_.Reap();
  // kParentDied from any other sender is ignored: only a new parent shows that the guardian is dead.
  if (::getppid() != parent_) End(Ending::kGuardianDied);
}

void KeeperProcess::SetTimer() {
  // While the keeper ends, the guardian sees by these turns that it doesn't hang, however long the processes take to
  // die.
  const MonotonicTime turn = ending_ == Ending::kNone ? kNever : BootTime() + kKeeperTurn;
  const MonotonicTime next =
      std::min({supervisor_.NextDeadline(), fence_, doubts_since_ + kClockDoubt, live_.NextDeadline(BootTime()),
                logs_.NextDeadline(), files_.NextDeadline(), hang_up_at_, turn});
  if (next == timer_set_to_) return;
  timer_set_to_ = next;
  itimerspec when{};
  if (next != kNever) {
    const int64_t at_ns = std::max<int64_t>(next.nanoseconds(), 1);  // 0 would disarm it
    when.it_value.tv_sec = at_ns / 1'000'000'000;
    when.it_value.tv_nsec = at_ns % 1'000'000'000;
  }
  ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

// ---------------------------------------------------------------------------------------------------------- the end

// Called when the agent has ended without waiting for processes that can't be killed. Closes the keeper's standard
// streams, so that a program that reads the agent's output to its end need not wait either.
void KeeperProcess::LeaveTerminal() {
  FlushLastOutput(kLastOutputOfDeadPatience);
  for (LiveOutput* output : {&live_.standard(), &live_.error()}) {
    poller_.Forget(output->watch_fd());
    output->Abandon();
  }
  LeaveStandardStreams();
}

void KeeperProcess::FlushLastOutput(absl::Duration patience) {
  const MonotonicTime deadline = BootTime() + patience;
  while (true) {
    live_.Flush(BootTime());
    if (!live_.has_pending() || BootTime() >= deadline) return;
    pollfd ready[2] = {{live_.standard().watch_fd(), POLLOUT, 0}, {live_.error().watch_fd(), POLLOUT, 0}};
    ::poll(ready, 2, PollMs(kLastLookPause));
  }
}

void KeeperProcess::FlushLogs() {
  const MonotonicTime begin = BootTime();
  while (logs_.has_unanswered() &&
         BootTime() < begin + (logs_.IsHung(BootTime()) ? kLastLogOfHungPatience : kLastLogPatience)) {
    WaitFor(logs_.fd(), logs_.has_unsent() ? POLLIN | POLLOUT : POLLIN, kLastLookPause);
    logs_.Pump();
  }
  logs_.SayWhatIsMissing(BootTime());
  FlushLastOutput(kLastOutputOfDeadPatience);
}

void KeeperProcess::SendLastReport() {
  // The socket breaks a moment before the agent is dead. If the agent lives on, it has only closed the socket, and
  // there is no death to report.
  if (agent_.fd() >= 0) WaitFor(agent_.fd(), POLLIN, kAgentDeathPatience);
  if (!agent_.IsDead()) return;
  if (!fate_.has_value()) fate_ = agent_.ReadFate();
  RunLastReport(last_report_, fate_.value_or(ExitStatus{}));
}

}  // namespace

// ------------------------------------------------------------------------------------------------------- the start

void RunKeeper(KeeperSockets sockets, KeeperFamily family, const KeeperOptions& options) {
  BecomeOwnProcess("ms-keeper", {sockets.agent.get(), sockets.logs.get(), sockets.files.get(), family.agent.fd(),
                                 family.agent.stat_fd(), family.guardian.fd(), family.guardian.stat_fd()});
  AdoptOrphans();  // the children of a killed shim become children of this process: strays
  // The keeper needs two pipes and a socket for each process, so it raises its own limit. The training processes get
  // the old one.
  const ShimOptions shim{options.stop_signal, RaiseDescriptorLimit(), options.mark, family.page, nullptr};
  KeeperProcess(std::move(sockets), std::move(family), options, shim).Run();
  ::_exit(0);
}

}  // namespace muster::agent
