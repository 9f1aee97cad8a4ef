#include "tests/sim/actors/agent_host.h"

#include <utility>

#include "common/base/sha256.h"
#include "common/hosts/compare.h"

namespace muster::sim {
namespace {

constexpr int kMaxStepsAtOnce = 1000;
constexpr absl::Duration kProgressInterval = absl::Seconds(1);

}  // namespace

AgentHost::AgentHost(Parts parts, const JobSpec& job, const NodeSpec& node, std::string node_id,
                     std::optional<LockFile> lock, uint64_t incarnation, Random random)
    : parts_(parts),
      job_(job),
      node_(node),
      incarnation_(incarnation),
      known_id_(std::move(node_id)),
      lock_(std::move(lock)),
      core_(Options()),
      keeper_(parts.sim, parts.processes, job, incarnation, random,
              [this](const agent::Event& event) { Deliver(event); }),
      store_(parts.sim.parameters.uses_store
                 ? std::make_shared<StoreUser>(parts.sim, parts.network, node.machine, incarnation, Random(incarnation))
                 : nullptr) {}

agent::AgentOptions AgentHost::Options() const {
  agent::AgentOptions options;
  options.job_id = job_.id;
  options.node_id = known_id_;
  options.incarnation = incarnation_;
  options.settings = node_.settings;
  options.node = node_.info;
  if (node_.machine % 2 == 1) {
    v1::HostFact& fact = *options.node.add_host_facts();
    fact.set_name(kFactNodeCheck);
    fact.set_value("on");
  }
  if (lock_) {
    options.node.set_lock_token(absl::StrCat(node_.info.machine_id(), "/", node_.info.master_port()));
    options.node.set_lock_start(lock_->start);
    options.node.mutable_ended_starts()->Assign(lock_->ended.begin(), lock_->ended.end());
    options.node.set_lock_count(static_cast<uint64_t>(absl::ToInt64Microseconds(parts_.sim.timeline.elapsed())) + 1);
  }
  options.retry_num = job_.retry_num;
  options.stop_timeout = parts_.sim.parameters.scheduler.stop_timeout;
  options.fence_stop_timeout = parts_.sim.parameters.scheduler.fence_stop_timeout;
  options.scheduler = "scheduler:8118";
  options.has_command = job_.has_command;
  return options;
}

MonotonicTime AgentHost::LocalNow() const {
  return parts_.sim.timeline.monotonic() + parts_.sim.parameters.machines[node_.machine].clock_offset;
}

void AgentHost::Begin() { Apply(agent::Begin{}); }

void AgentHost::Deliver(const agent::Event& event) {
  if (has_ended_) return;
  if (parts_.sim.timeline.monotonic() < hangs_until_) return pending_events_.push_back(event);
  if (std::holds_alternative<agent::FenceHasFallen>(event)) keeper_.FenceFellWasSeen();
  Apply(event);
}

void AgentHost::Apply(const agent::Event& event) {
  if (has_ended_) return;
  Sim& sim = parts_.sim;
  if (sim.timeline.monotonic() != last_step_) steps_now_ = 0;
  last_step_ = sim.timeline.monotonic();
  sim.Expect(++steps_now_ < kMaxStepsAtOnce, "an agent's core spins");
  if (!sim.violation().empty()) return;
  if (const auto* received = std::get_if<agent::MessageReceived>(&event)) EndStoreRoundIfOver(received->message);
  if (store_ != nullptr && std::holds_alternative<agent::StreamBroken>(event)) store_->Disconnect();
  ++sim.steps;
  const agent::Effects effects = core_.Apply(event, LocalNow());
  core_.CheckInvariants();
  for (const agent::Effect& effect : effects) {
    std::visit([this](const auto& e) { Do(e); }, effect);
  }
  Arm();
}

void AgentHost::WatchProgress() {
  if (std::exchange(is_watching_, true)) return;
  parts_.sim.timeline.After(kProgressInterval, [this] {
    is_watching_ = false;
    if (has_ended_ || !keeper_.HasProcesses()) return;
    if (parts_.sim.timeline.monotonic() >= hangs_until_) {
      for (const agent::ProgressMade& made : keeper_.TakeProgress()) Apply(made);
    }
    WatchProgress();
  });
}

void AgentHost::Arm() {
  if (has_ended_) return;
  MonotonicTime due = core_.NextDeadline();
  if (due.is_never()) return;
  due = due - parts_.sim.parameters.machines[node_.machine].clock_offset;
  due = std::max(due, hangs_until_);
  if (due >= armed_at_) return;
  armed_at_ = due;
  parts_.sim.timeline.At(due, [this, due] {
    if (armed_at_ != due || has_ended_) return;
    armed_at_ = MonotonicTime::Never();
    if (parts_.sim.timeline.monotonic() >= hangs_until_ && core_.NextDeadline() <= LocalNow()) {
      Apply(agent::Tick{});
    } else {
      Arm();
    }
  });
}

// ------------------------------------------------------------------------------------------------- faults and users

void AgentHost::EndProcess(bool is_silent) {
  has_ended_ = true;
  if (store_ != nullptr) store_->Stop();
  parts_.network.AgentDied(this, is_silent);
  parts_.invariants.OnAgentEnded(incarnation_);
  if (on_end_) on_end_();
}

void AgentHost::Kill() {
  if (has_ended_) return;
  parts_.sim.Trace("fault: agent ", known_id_, " (", incarnation_, ") is killed");
  was_touched_ = true;
  keeper_.AgentDied([this] {
    if (last_report_.cluster_id().empty()) return;
    last_report_.set_signal(kKill);
    parts_.network.SendLastReport(node_.machine, last_report_);
  });
  EndProcess(false);
}

void AgentHost::KillKeeper() {
  if (has_ended_) return;
  parts_.sim.Trace("fault: the keeper of ", known_id_, " is killed");
  was_touched_ = true;
  keeper_.Die();
}

void AgentHost::KillWithKeeper() {
  if (has_ended_) return;
  parts_.sim.Trace("fault: agent ", known_id_, " (", incarnation_, ") and its keeper are killed");
  was_touched_ = true;
  keeper_.DieWithAgent(node_.info.is_fence_guarded());
  EndProcess(false);
}

void AgentHost::EndOrphans() {
  if (has_ended_) keeper_.EndOrphans();
}

void AgentHost::BlindKeeper(absl::Duration length) {
  if (has_ended_) return;
  parts_.sim.Trace("fault: the keeper of ", known_id_, " sees nothing for ", absl::FormatDuration(length));
  was_touched_ = true;
  keeper_.GoBlind(length);
}

void AgentHost::StarveKeeper(absl::Duration length) {
  if (has_ended_) return;
  parts_.sim.Trace("fault: the keeper of ", known_id_, " has no descriptors for ", absl::FormatDuration(length));
  was_touched_ = true;
  keeper_.RunOutOfDescriptors(length);
}

void AgentHost::HangProcess(Random& random) {
  if (has_ended_) return;
  was_touched_ = true;
  keeper_.HangOne(random);
}

void AgentHost::Vanish() {
  keeper_.Vanish();
  was_touched_ = true;
  if (!has_ended_) EndProcess(true);
}

void AgentHost::Hang(absl::Duration length) {
  if (has_ended_) return;
  Timeline& timeline = parts_.sim.timeline;
  if (timeline.monotonic() < hangs_until_) return;
  parts_.sim.Trace("fault: agent ", known_id_, " hangs for ", absl::FormatDuration(length));
  was_touched_ = true;
  hangs_until_ = timeline.monotonic() + length;
  timeline.At(hangs_until_, [this] {
    while (!pending_events_.empty() && !has_ended_) {
      const agent::Event event = std::move(pending_events_.front());
      pending_events_.pop_front();
      Deliver(event);
    }
    armed_at_ = MonotonicTime::Never();
    Arm();
  });
}

void AgentHost::RenewCertificate() {
  if (has_ended_) return;
  parts_.sim.Trace("user: the certificate of ", known_id_, " (", incarnation_, ") is renewed");
  Deliver(agent::TlsChanged{true});
}

void AgentHost::Signal(int signal) {
  if (has_ended_) return;
  parts_.sim.Trace("user: signal ", signal, " to agent ", known_id_);
  was_touched_ = true;
  Deliver(agent::EndSignal{signal});
}

// --------------------------------------------------------------------------------------------------------- its stream

void AgentHost::OnMessage(uint64_t connect_seq, const v1::SchedulerMessage& message) {
  parts_.sim.Trace("  -> ", known_id_, " (", incarnation_, "): ", message.ShortDebugString());
  Deliver(agent::MessageReceived{connect_seq, message});
}

void AgentHost::OnBroken(uint64_t connect_seq, const std::string& reason) {
  parts_.sim.Trace("  -> ", known_id_, " (", incarnation_, "): broken: ", reason);
  Deliver(agent::StreamBroken{connect_seq, reason});
}

void AgentHost::OnAnswered(uint64_t connect_seq, const v1::Acknowledgement& acknowledgement) {
  Deliver(agent::HeartbeatAnswered{connect_seq, acknowledgement});
}

// ------------------------------------------------------------------------------------------------------------ effects

void AgentHost::Do(const agent::Dial& effect) {
  if (store_ != nullptr && !effect.is_replacement) store_->Disconnect();
  parts_.network.Dial(this, node_.machine, effect.connect_seq, effect.is_replacement);
}

void AgentHost::Do(const agent::Send& effect) {
  parts_.sim.Trace("  <- ", known_id_, " (", incarnation_, "): ", effect.message.ShortDebugString());
  parts_.network.Send(this, effect.connect_seq, effect.message);
}

void AgentHost::Do(const agent::SendHeartbeat& effect) {
  scheduler::HeartbeatReceived heartbeat{0, effect.heartbeat_seq, effect.armed_fence_ms};
  heartbeat.progress.ParseFromString(effect.progress);
  parts_.network.SendHeartbeat(this, effect.connect_seq, heartbeat);
}

void AgentHost::Do(const agent::HangUp& effect) { parts_.network.HangUp(this, effect.connect_seq); }

void AgentHost::Do(const agent::FetchPeers& effect) {
  parts_.network.GetPeers(node_.machine, job_.id, effect.run, effect.round,
                          [this, effect](absl::Status status, std::shared_ptr<const std::string> peers) {
                            if (status.ok() && Sha256(*peers) != effect.digest) {
                              // A scheduler that has lost its memory may have another run and round with the same
                              // numbers.
                              if (parts_.invariants.IsPresent(run_.cluster_id)) {
                                parts_.sim.Violate("a peer list does not have the digest of the round");
                              }
                              status = absl::DataLossError("another list");  // as the session does
                              peers = nullptr;
                            }
                            Deliver(agent::PeersFetched{effect.round, status, peers});
                          });
}

PlaceName AgentHost::PlaceOf(const v1::DesiredState& desired, uint32_t slot) const {
  RunName run = run_;
  run.run = desired.run();
  return {run, desired.round(), desired.assignment().role(), desired.assignment().slots(static_cast<int>(slot)).rank()};
}

// Does what AgentLoop does.
void AgentHost::BeginStoreRound(const v1::DesiredState& desired) {
  if (store_ == nullptr) return;
  v1::StoreCaller caller;
  caller.set_job_id(job_.id);
  caller.set_run(desired.run());
  caller.set_round(desired.round());
  caller.set_node_id(known_id_);
  caller.set_incarnation(incarnation_);
  store_->BeginRound(caller);
}

void AgentHost::EndStoreRoundIfOver(const v1::SchedulerMessage& message) {
  if (store_ == nullptr || !message.has_desired()) return;
  const v1::DesiredState& desired = message.desired();
  if (desired.phase() == v1::RUN_PHASE_RUNNING || !store_->IsInRound(desired.run(), desired.round())) return;
  store_->EndRound();
}

void AgentHost::Do(const agent::Launch& effect) {
  parts_.sim.Expect(!is_checking_, "an agent starts processes while its node check runs");
  BeginStoreRound(effect.desired);
  std::vector<Keeper::Order> orders;
  for (const uint32_t slot : effect.slots) {
    const v1::SlotAssignment& assigned = effect.desired.assignment().slots(static_cast<int>(slot));
    orders.push_back({slot, assigned.attempt(), PlaceOf(effect.desired, slot)});
    parts_.invariants.OnLaunch(incarnation_, orders.back().place);
  }
  keeper_.Start(std::move(orders));
  WatchProgress();
}

void AgentHost::Do(const agent::PrintAssignment& effect) {
  for (int slot = 0; slot < effect.desired.assignment().slots_size(); ++slot) {
    const PlaceName place = PlaceOf(effect.desired, static_cast<uint32_t>(slot));
    parts_.invariants.OnLaunch(incarnation_, place);
    parts_.processes.Begin(place, incarnation_, nullptr);
    parts_.processes.End(place, {0, 0}, false);
  }
}

void AgentHost::Do(const agent::StopProcesses&) { keeper_.StopAll(); }
void AgentHost::Do(const agent::KillProcesses&) { keeper_.KillAll(); }

void AgentHost::Do(const agent::SetFence& effect) {
  const absl::Duration offset = parts_.sim.parameters.machines[node_.machine].clock_offset;
  keeper_.SetFence(effect.is_armed ? std::optional(effect.deadline - offset) : std::nullopt);
}

void AgentHost::Do(const agent::SetLastReport& effect) {
  last_report_ = effect.last_report;
  known_id_ = last_report_.node_id();
  run_ = {last_report_.cluster_id(), last_report_.job_id(), last_report_.run()};
  if (store_ != nullptr) store_->Connect();
  parts_.invariants.OnWelcomeTaken(incarnation_, run_);
}

void AgentHost::Do(const agent::GatherStacks& effect) {
  agent::StacksGathered gathered{effect.query, {}};
  for (const agent::GatherStacks::Process& process : effect.processes) {
    gathered.stacks.emplace_back().set_slot(process.slot);
    gathered.stacks.back().set_pid(process.pid);
  }
  parts_.sim.timeline.After(absl::Seconds(1), [this, gathered = std::move(gathered)] { Deliver(gathered); });
}

// Some starts of the agent do not pass. No random number decides this, so that seeds keep their courses.
void AgentHost::Do(const agent::CheckNode&) {
  agent::NodeChecked checked;
  if (incarnation_ % 4 == 0) checked.status = absl::FailedPreconditionError("the node check ended with code 1");
  is_checking_ = true;
  parts_.sim.timeline.After(absl::Seconds(3), [this, checked] {
    is_checking_ = false;
    Deliver(checked);
  });
}

void AgentHost::Do(const agent::Say& effect) {
  if (!effect.is_progress) parts_.sim.Trace("  agent ", known_id_, " (", incarnation_, ") says: ", effect.text);
}

void AgentHost::Do(const agent::Finish& effect) {
  exit_code_ = effect.exit_code;
  parts_.sim.Trace("  agent ", known_id_, " (", incarnation_, ") ends with ", exit_code_);
  parts_.invariants.OnFinish(incarnation_, run_, effect.exit_code, effect.outcome);
  keeper_.AgentEnded([this, exit_code = exit_code_] {
    if (last_report_.cluster_id().empty()) return;
    last_report_.set_exit_code(exit_code);
    parts_.network.SendLastReport(node_.machine, last_report_);
  });
  EndProcess(false);
}

}  // namespace muster::sim
