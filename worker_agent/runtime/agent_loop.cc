#include "worker_agent/runtime/agent_loop.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/text.h"
#include "common/causes/outcome.h"
#include "common/sys/log.h"
#include "common/sys/program.h"
#include "common/sys/wait.h"
#include "worker_agent/keeper/boottime.h"
#include "worker_agent/launch/failure_file.h"
#include "worker_agent/launch/slot_files.h"
#include "worker_agent/session/farewell.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kLastWordsTimeout = absl::Seconds(1);
constexpr absl::Duration kEndPatience = absl::Seconds(60);  // for the whole end; the keeper may take half of it
constexpr absl::Duration kMaxPoll = absl::Minutes(1);

// Returns the reason as Gateway::WhyOver wants it.
std::string WhyOver(const v1::DesiredState& order) {
  if (order.has_outcome()) return order.outcome().succeeded() ? "" : order.outcome().cause().text();
  return order.reason().empty() ? "the round was given up" : order.reason();
}

}  // namespace

AgentLoop::AgentLoop(AgentLoopOptions options, std::unique_ptr<Keeper> keeper, Launcher& launcher, Signals& signals,
                     KernelLog kernel_log, const Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      launcher_(launcher),
      signals_(signals),
      status_printer_(StatusPrinter::FindTerminal(), options_.manager),
      core_(options_.agent),
      keeper_(std::move(keeper)),
      session_(options_.session, [this](Event event) { mailbox_.Push(std::move(event)); }),
      store_(clock),
      stacks_({options_.search_path, static_cast<pid_t>(keeper_->pid())}, clock,
              [this](StacksGathered gathered) { mailbox_.Push(std::move(gathered)); }),
      node_check_(options_.node_check, clock),
      progress_(options_.work_folder),
      kernel_log_(std::move(kernel_log)) {
  MUSTER_CHECK(waker_.is_open(), "a descriptor is available at the start");
  launcher_.SetWake([this] { waker_.Wake(); });
}

int AgentLoop::Run() {
  pending_.push_back(Begin{});
  while (true) {
    while (!pending_.empty() && !core_.IsFinished()) {
      const Event event = std::move(pending_.front());
      pending_.pop_front();
      Apply(event);
    }
    if (core_.IsFinished()) break;
    Wait();
  }
  EndAtTheLatest(kEndPatience, exit_code_);
  stacks_.Abandon();
  node_check_.Abandon();
  EndRound("ms-worker ends");
  store_.SetChannel(nullptr);  // it would keep the connection open
  session_.Close(kLastWordsTimeout);
  keeper_.reset();
  EndAtTheLatest(absl::InfiniteDuration(), exit_code_);  // cancels the limit above
  return exit_code_;
}

void AgentLoop::Wait() {
  const bool is_idle = progress_.IsIdle() && halts_.IsIdle();
  MonotonicTime deadline = is_idle ? core_.NextDeadline() : std::min(core_.NextDeadline(), look_at_);
  if (!is_keeper_lost_ || is_anybody_left_) deadline = std::min(deadline, keeper_polled_at_ + Keeper::kPollInterval);
  const absl::Duration left = deadline - clock_.Read().monotonic;
  pollfd fds[] = {{is_keeper_lost_ ? -1 : keeper_->fd(), POLLIN, 0},
                  {signals_.fd(), POLLIN, 0},
                  {waker_.fd(), POLLIN, 0},
                  {heartbeats_.socket == nullptr ? -1 : heartbeats_.socket->fd(), POLLIN, 0},
                  {options_.scheduler == nullptr ? -1 : options_.scheduler->fd(), POLLIN, 0}};
  FlushLog();
  poll(fds, std::size(fds), PollMs(std::min(left, kMaxPoll)));
  // Takes the answers first, because an answer that waits here must not count as missing, and then the progress,
  // because the next report must have the newest.
  if (fds[3].revents != 0) {
    for (v1::Acknowledgement& answer : heartbeats_.socket->TakeAnswers()) {
      pending_.push_back(HeartbeatAnswered{heartbeats_.connect_seq, std::move(answer)});
    }
  }
  TakeProgress();
  const bool is_poll_due = clock_.Read().monotonic >= keeper_polled_at_ + Keeper::kPollInterval;
  if (fds[0].revents != 0 || (is_poll_due && (!is_keeper_lost_ || is_anybody_left_))) TakeKeeperEvents();
  if (fds[1].revents != 0) TakeSignals();
  if (fds[2].revents != 0) {
    waker_.Clear();
    for (Event& event : mailbox_.TakeAll()) pending_.push_back(std::move(event));
    ContinueLaunch();
  }
  auto how = options_.scheduler == nullptr ? std::nullopt : options_.scheduler->TakeLoss();
  if (how) pending_.push_back(OwnSchedulerLost{*std::move(how), options_.has_whole_job});
  if (clock_.Read().monotonic >= core_.NextDeadline()) pending_.push_back(Tick{});
}

void AgentLoop::TakeSignals() {
  while (const std::optional<int> signal = signals_.Take()) {
    if (!Signals::IsForwarded(*signal)) {
      pending_.push_back(EndSignal{*signal});
    } else if (!is_keeper_lost_) {
      keeper_->Forward(*signal);
    }
  }
}

void AgentLoop::Apply(const Event& event) {
  if (std::holds_alternative<StreamBroken>(event)) store_.SetChannel(session_.channel());
  if (const auto* received = std::get_if<MessageReceived>(&event)) EndRoundIfOver(received->message);
  for (const Effect& effect : core_.Apply(event, clock_.Read().monotonic)) {
    std::visit([this](const auto& e) { Do(e); }, effect);
  }
}

// Also called when a process starts again within the round; then it does nothing.
void AgentLoop::BeginRound(const Launch& effect) {
  const v1::DesiredState& desired = effect.desired;
  if (round_ == desired.round() && round_run_ == desired.run()) return;
  EndRound("another round begins");
  round_run_ = desired.run();
  round_ = desired.round();
  v1::StoreCaller caller;
  caller.set_job_id(options_.agent.job_id);
  caller.set_run(round_run_);
  caller.set_round(round_);
  caller.set_node_id(last_report_.node_id());
  caller.set_incarnation(options_.agent.incarnation);
  store_.BeginRound(std::move(caller));
}

// A message of an earlier connection may come late. It does no harm, because it is about this round or an earlier one.
void AgentLoop::EndRoundIfOver(const v1::SchedulerMessage& message) {
  if (round_ == 0 || !message.has_desired()) return;
  const v1::DesiredState& desired = message.desired();
  if (desired.run() != round_run_ || desired.round() < round_ || !IsKnown(desired.phase())) return;
  if (desired.round() == round_ && desired.phase() == v1::RUN_PHASE_RUNNING) return;
  if (desired.round() > round_ || !desired.is_planned_stop()) return EndRound(WhyOver(desired));
  launcher_.NotifyStopping(desired.reason(), options_.agent.stop_timeout);
}

// Begins the logs once for each run.
bool AgentLoop::BeginLogs() {
  if (options_.logs.base.empty()) return false;
  RunFolder folder = options_.logs;
  folder.job_id = options_.agent.job_id;
  folder.name = RunFolderName(last_report_.run(), run_opened_unix_ms_);
  if (folder.name == logs_.name) return false;
  logs_ = std::move(folder);
  launcher_.SetLogFolder(logs_.path());
  keeper_->BeginRun(logs_);
  return true;
}

// The gateways get the reason first: otherwise their calls that wait in the store would end without a reason.
void AgentLoop::EndRound(const std::string& why) {
  if (round_ == 0) return;
  launcher_.NotifyOver(why);
  store_.EndRound();
  launcher_.EndRound(round_run_, round_);
  round_ = 0;
}

void AgentLoop::Do(const Dial& effect) {
  if (!effect.is_replacement) {
    store_.SetChannel(nullptr);
    heartbeats_ = {};
  }
  session_.Dial(effect.connect_seq, effect.is_replacement);
}
void AgentLoop::Do(const Send& effect) { session_.Send(effect.connect_seq, effect.message); }
void AgentLoop::Do(const SendHeartbeat& effect) {
  heartbeats_ = {effect.connect_seq, session_.heartbeat_socket(effect.connect_seq)};
  if (heartbeats_.socket != nullptr) heartbeats_.socket->Send(effect);
}
void AgentLoop::Do(const HangUp& effect) {
  session_.HangUp(effect.connect_seq);
  store_.SetChannel(session_.channel());
}
void AgentLoop::Do(const FetchPeers& effect) { session_.FetchPeers(options_.agent.job_id, effect); }

void AgentLoop::Do(const Launch& effect) {
  BeginRound(effect);
  if (BeginLogs()) {
    status_printer_.ClearProgress();
    Log(Severity::kInfo, absl::StrCat("logs are in ", logs_.path()));
  }
  Start(effect, launcher_.Prepare(effect, last_report_.node_id()));
}

// Called when a gateway may be ready. The loop handles other events until then: this thread never waits for a gateway.
void AgentLoop::ContinueLaunch() {
  if (!waiting_launch_) return;
  absl::StatusOr<LaunchPlan> plan = launcher_.Continue();
  if (plan.ok() && plan->is_waiting) return;
  const Launch launch = *std::exchange(waiting_launch_, std::nullopt);
  Start(launch, std::move(plan));
}

// Gives up the launch that waits: reports each of its slots as stopped without a start.
void AgentLoop::GiveLaunchUp() {
  if (!waiting_launch_) return;
  const v1::DesiredState& desired = waiting_launch_->desired;
  ProcessEnd end;
  end.was_stopped = true;
  for (const uint32_t slot : waiting_launch_->slots) {
    const uint32_t attempt = desired.assignment().slots(static_cast<int>(slot)).attempt();
    pending_.push_back(ProcessHasEnded{{slot, desired.round(), attempt}, end, absl::ZeroDuration()});
  }
  waiting_launch_.reset();
}

void AgentLoop::Start(const Launch& effect, absl::StatusOr<LaunchPlan> plan) {
  if (plan.ok() && plan->is_waiting) {
    waiting_launch_ = effect;
    return;
  }
  if (!plan.ok()) {
    pending_.push_back(FailedLaunch(effect, plan.status()));
    return;
  }
  status_printer_.ClearProgress();
  for (const std::string& notice : plan->notices) Log(Severity::kInfo, notice);
  for (const std::string& warning : plan->warnings) Log(Severity::kWarning, warning);
  for (const auto& [owner, followers] : plan->followers) {
    for (const ProcessKey& follower : followers) owners_[follower.slot] = owner.slot;
  }
  followers_.merge(plan->followers);
  for (const ProcessSpec& spec : plan->specs) {
    owners_.erase(spec.key.slot);
    keeper_->Start(spec);
  }
  for (const ProcessKey& key : plan->done_at_once) pending_.push_back(ProcessHasEnded{key, {}, absl::ZeroDuration()});
}

void AgentLoop::Do(const StopProcesses& effect) {
  GiveLaunchUp();
  keeper_->StopAll(effect.interrupt_time);
}

void AgentLoop::Do(const KillProcesses&) {
  GiveLaunchUp();
  keeper_->KillAll();
}

void AgentLoop::Do(const PrintAssignment& effect) {
  const absl::StatusOr<std::string> text = launcher_.AssignmentText(effect, last_report_.node_id());
  if (!text.ok()) {
    Log(Severity::kError, std::string(text.status().message()));
    return;
  }
  status_printer_.ClearProgress();
  std::fputs(EscapeJson(*text).c_str(), stdout);
  std::fflush(stdout);
}

void AgentLoop::Do(const SetFence& effect) {
  keeper_->SetFence(effect.is_armed ? effect.deadline : MonotonicTime::Never(), effect.counted_from);
}

void AgentLoop::Do(const SetLastReport& effect) {
  last_report_ = effect.last_report;
  run_opened_unix_ms_ = effect.run_opened_unix_ms;
  store_.SetChannel(session_.channel());
  if (options_.on_welcome) options_.on_welcome(effect.last_report.node_id());
  LastReportCommand command;
  // If the agent uses TLS, the last report never uses plain text, even if the TLS hand-over can't be made.
  const Security& security = options_.session.security;
  command.argv = FarewellArguments(options_.program, options_.session.host, options_.session.port,
                                   security.requires_tls || security.tls != nullptr, effect.last_report);
  if (options_.hand_over) command.hand_over = options_.hand_over();
  keeper_->SetLastReport(command);
}

void AgentLoop::Do(const GatherStacks& effect) {
  std::vector<StackTarget> targets;
  for (const GatherStacks::Process& process : effect.processes) {
    targets.push_back(
        {process.slot, static_cast<pid_t>(process.pid), StacksFile(options_.work_folder, OwnerOf(process.slot))});
  }
  stacks_.Gather(effect.query, std::move(targets));
}

void AgentLoop::Do(const ReadLog& effect) {
  if (is_keeper_lost_) {
    v1::SlotLog log;
    log.set_note("the keeper was lost, and the last output of the process with it; the log file may have that output");
    pending_.push_back(LogRead{effect.query, effect.asked_on, std::move(log)});
    return;
  }
  const uint32_t slot = OwnerOf(effect.slot);
  keeper_->ReadOutput({effect.query,
                       effect.asked_on,
                       slot,
                       effect.lines,
                       {slot, effect.known.round, effect.known.attempt},
                       effect.after});
}

// Returns the slot whose process this one shares (--per_node), also after that process has ended, because its log can
// still be read.
uint32_t AgentLoop::OwnerOf(uint32_t slot) const {
  const auto found = owners_.find(slot);
  return found == owners_.end() ? slot : found->second;
}

void AgentLoop::Do(const CheckNode&) {
  node_check_.Start([this](absl::Status status) { mailbox_.Push(NodeChecked{std::move(status)}); });
}

void AgentLoop::Do(const Say& effect) { status_printer_.Print(effect, clock_.Read().monotonic); }

void AgentLoop::Do(const Finish& effect) {
  status_printer_.ClearProgress();
  exit_code_ = effect.exit_code;
  has_outcome_ = effect.outcome.succeeded() || effect.outcome.has_cause();
  leaves_some_ = effect.leaves_some;
  if (options_.logs.base.empty() || !effect.outcome.has_cause() || WasStopped(effect.outcome)) return;
  BeginLogs();  // for failure.json. Says nothing about the folder, since no process has written a log there
  if (!is_keeper_lost_) {
    // The keeper writes it: a file system that hangs must not hang this process.
    keeper_->WriteFile(FailureFile(logs_.path()),
                       FailureText(options_.agent.job_id, last_report_.run(), effect.outcome));
    return;
  }
  const absl::Status written =
      WriteFailureFile(logs_.path(), options_.agent.job_id, last_report_.run(), effect.outcome);
  if (!written.ok()) Log(Severity::kWarning, std::string(written.message()));
}

}  // namespace muster::agent
