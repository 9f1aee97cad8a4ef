#include "tests/sim/actors/scheduler_host.h"

#include <algorithm>
#include <utility>

#include "scheduler/loop/event_queue.h"

namespace muster::sim {
namespace {

constexpr absl::Duration kLateAfter = absl::Milliseconds(250);  // as in scheduler/loop
constexpr size_t kBatchLimit = 1024;
constexpr int kMaxCoreStepsAtOnce = 200'000;
constexpr double kRecoveryCheck = 0.02;

}  // namespace

SchedulerHost::SchedulerHost(Sim& sim, Network& network, WorldInvariants& invariants, Random random)
    : sim_(sim), network_(network), invariants_(invariants), random_(random) {}

// ---------------------------------------------------------------------------------------------------------- its life

void SchedulerHost::Start() {
  if (IsUp() || is_for_good_) return;
  ++life_;
  if (!sim_.parameters.is_persistent) durable_ = 0;
  journal_.resize(durable_);
  recovered_ = durable_;
  outbox_ = std::make_unique<scheduler::Outbox>();
  const std::string cluster_id = absl::StrCat("cluster-", life_);
  sim_.Trace("scheduler starts, life ", life_, " with ", durable_, " records");
  core_ = std::make_unique<scheduler::Core>(sim_.parameters.scheduler, cluster_id);
  for (const v1::Record& record : journal_) core_->Recover(record);
  invariants_.OnSchedulerStart(journal_);
  scheduler::Effects effects = core_->Start(sim_.timeline.now());
  core_->CheckInvariants();
  invariants_.OnStartEffects(effects);
  Gather(std::move(effects));
  Store();
  WakeAt(core_->NextDeadline());
}

void SchedulerHost::Crash() {
  if (!IsUp()) return;
  sim_.Trace("scheduler dies");
  ++life_;
  core_.reset();
  queue_.clear();
  batch_.clear();
  published_.clear();
  queries_.clear();
  store_calls_.clear();
  gates_.clear();
  wakes_at_ = MonotonicTime::Never();
  paused_until_ = sim_.timeline.monotonic();
  snapshot_at_ = 0;
  network_.SchedulerDied();
}

void SchedulerHost::Stop() {
  if (!IsUp()) return;
  sim_.Trace("user: the scheduler is asked to end");
  Post(scheduler::DrainRequested{!sim_.parameters.is_persistent});
  sim_.timeline.After(random_.Between(absl::Milliseconds(200), absl::Seconds(5)), [this, life = life_] {
    if (life == life_) Crash();
  });
}

void SchedulerHost::Pause(absl::Duration length) {
  const MonotonicTime now = sim_.timeline.monotonic();
  if (!IsUp() || now < paused_until_) return;
  sim_.Trace("fault: the scheduler is paused for ", absl::FormatDuration(length));
  paused_from_ = now;
  paused_until_ = now + length;
  WakeAt(paused_until_);
}

// ------------------------------------------------------------------------------------------------------- what it hears

void SchedulerHost::Post(scheduler::Event event) {
  if (!IsUp()) return;
  queue_.push_back({std::move(event), sim_.timeline.monotonic()});
  WakeAt(sim_.timeline.monotonic() + random_.UpTo(absl::Microseconds(500)));
}

void SchedulerHost::OnMessage(StreamId stream, const std::string& peer_address, const v1::AgentMessage& message) {
  if (message.has_join()) Post(scheduler::JoinRequested{stream, message.join(), peer_address, ""});
  if (message.has_report()) Post(scheduler::ReportReceived{stream, message.report()});
  if (message.has_stack_traces()) Post(scheduler::StackTracesReceived{stream, message.stack_traces()});
  if (message.has_probe_answer()) Post(scheduler::ProbeAnswered{stream, message.probe_answer().probe()});
}

// Does what scheduler/heartbeat/datagram_port does.
void SchedulerHost::OnHeartbeat(const scheduler::HeartbeatReceived& heartbeat) {
  const auto gate = gates_.find(heartbeat.stream);
  if (gate != gates_.end() && gate->second.Take(heartbeat.heartbeat_seq)) Post(heartbeat);
}

void SchedulerHost::OnClosed(StreamId stream) {
  gates_.erase(stream);
  Post(scheduler::StreamClosed{stream});
}

void SchedulerHost::OnLastReport(const v1::LastReportRequest& last_report) {
  sim_.Trace("last report of ", last_report.node_id(), " (", last_report.incarnation(), ") arrives");
  Post(scheduler::LastReportReceived{last_report, 0, ""});
}

void SchedulerHost::Ask(scheduler::QueryRequest request) {
  queries_[++last_query_] = "query";
  Post(scheduler::QueryReceived{last_query_, std::move(request)});
}

void SchedulerHost::AskToStop(const std::string& job_id) {
  v1::StopRequest request;
  request.set_job_id(job_id);
  request.set_user("operator");
  queries_[++last_query_] = "stop";
  Post(scheduler::StopRequested{last_query_, request});
}

void SchedulerHost::Steer(const v1::SteerRequest& request) {
  queries_[++last_query_] = "steer";
  Post(scheduler::SteerRequested{last_query_, request});
}

void SchedulerHost::AskForStacks(const std::string& job_id) {
  v1::StacksRequest request;
  request.set_job_id(job_id);
  queries_[++last_query_] = "stacks";
  Post(scheduler::StacksRequested{last_query_, request});
}

void SchedulerHost::OnStoreCall(const scheduler::StoreOperation& operation, StoreDone done) {
  store_calls_[++last_query_] = {operation, std::move(done)};
  Post(scheduler::StoreRequested{last_query_, operation, ""});
}

std::shared_ptr<const std::string> SchedulerHost::GetPeers(const std::string& job_id, uint64_t run, uint32_t round) {
  const auto it = published_.find({job_id, run, round});
  return it == published_.end() ? nullptr : it->second;
}

// ------------------------------------------------------------------------------------------------------------ its loop

void SchedulerHost::WakeAt(MonotonicTime time) {
  if (time >= wakes_at_) return;
  wakes_at_ = time;
  sim_.timeline.At(time, [this, life = life_, time] {
    if (life != life_ || wakes_at_ != time) return;
    wakes_at_ = MonotonicTime::Never();
    Wake();
  });
}

// If the loop runs later than it wanted to, it reports how much of the time since its last turn is lost: see
// EventQueue::Take.
void SchedulerHost::NoteLateness() {
  const MonotonicTime now = sim_.timeline.monotonic();
  MonotonicTime wanted = core_->NextDeadline();
  if (!queue_.empty()) wanted = std::min(wanted, queue_.front().posted);
  if (now == paused_until_) wanted = std::min(wanted, paused_from_ + scheduler::kMaxTurn);
  const MonotonicTime ran = std::exchange(ran_, now);
  if (wanted < now && now - wanted > kLateAfter) Apply(scheduler::LoopWasLate{now - std::max(wanted, ran)});
}

void SchedulerHost::Wake() {
  const MonotonicTime now = sim_.timeline.monotonic();
  if (now < paused_until_) return WakeAt(paused_until_);
  NoteLateness();
  for (size_t i = 0; i < kBatchLimit && !queue_.empty(); ++i) {
    const Queued queued = std::move(queue_.front());
    queue_.pop_front();
    Apply(queued.event);
  }
  if (core_->NextDeadline() <= now) Apply(scheduler::Tick{});
  if (!sim_.violation().empty()) return;
  Store();
  Release();
  if (!IsUp()) return;
  if (!queue_.empty()) return WakeAt(now);
  WakeAt(core_->NextDeadline());
}

void SchedulerHost::Apply(const scheduler::Event& event) {
  if (!sim_.violation().empty()) return;
  const MonotonicTime now = sim_.timeline.monotonic();
  if (now != last_step_) steps_now_ = 0;
  last_step_ = now;
  sim_.Expect(++steps_now_ < kMaxCoreStepsAtOnce, "the scheduler's core spins");
  ++sim_.steps;
  scheduler::Effects effects = core_->Apply(event, sim_.timeline.now());
  core_->CheckInvariants();
  if (const auto* heartbeat = std::get_if<scheduler::HeartbeatReceived>(&event)) {
    if (const auto gate = gates_.find(heartbeat->stream); gate != gates_.end()) gate->second.NoteApplied();
  }
  invariants_.OnApplied(event, effects);
  Gather(std::move(effects));
}

void SchedulerHost::Gather(scheduler::Effects effects) {
  scheduler::Outbox::Immediate immediate = outbox_->Add(std::move(effects));
  for (v1::Record& record : immediate.records) {
    sim_.Trace("  record: ", record.ShortDebugString());
    batch_.push_back(std::move(record));
  }
  for (const scheduler::Send& send : immediate.urgent) Transmit(send);
}

// ---------------------------------------------------------------------------------------------------------- its
// journal

void SchedulerHost::Store() {
  if (batch_.empty()) return;
  for (v1::Record& record : batch_) {
    sim_.Note(record.SerializeAsString());
    journal_.push_back(std::move(record));
  }
  batch_.clear();
  if (snapshot_at_ == 0 && random_.Chance(kRecoveryCheck)) {
    snapshot_at_ = journal_.size();
    snapshot_ = core_->DebugState();
  }
  absl::Duration delay;
  if (sim_.parameters.is_persistent) {
    delay = random_.UpTo(absl::Milliseconds(10));
    if (random_.Chance(sim_.parameters.faults.slow_disk)) delay = random_.UpTo(absl::Seconds(3));
  }
  last_durable_at_ = std::max(last_durable_at_, sim_.timeline.monotonic() + delay);
  sim_.timeline.At(last_durable_at_, [this, life = life_, count = journal_.size()] {
    if (life == life_) BecomeDurable(count);
  });
}

void SchedulerHost::BecomeDurable(uint64_t count) {
  for (; durable_ < count; ++durable_) invariants_.OnDurable(journal_[durable_]);
  if (snapshot_at_ != 0 && durable_ >= snapshot_at_) CheckRecovery();
  WakeAt(sim_.timeline.monotonic());
}

// Recovery from the durable records alone must give the state of the live core at that point.
void SchedulerHost::CheckRecovery() {
  scheduler::Core core(sim_.parameters.scheduler, "another");
  for (size_t i = 0; i < snapshot_at_; ++i) core.Recover(journal_[i]);
  const std::string recovered = core.DebugState();
  sim_.Expect(recovered == snapshot_,
              absl::StrCat("recovery comes to another state.\nlive:\n", snapshot_, "recovered:\n", recovered));
  core.Start(sim_.timeline.now());
  core.CheckInvariants();
  snapshot_at_ = 0;
}

void SchedulerHost::CheckLossesAreInTime() {
  if (IsUp() && sim_.timeline.monotonic() >= paused_until_ + absl::Seconds(1)) invariants_.CheckLossesAreInTime();
}

void SchedulerHost::Release() {
  const uint64_t count = durable_ > recovered_ ? durable_ - recovered_ : 0;
  const uint64_t life = life_;
  for (scheduler::Effect& effect : outbox_->TakeReleased(count)) {
    std::visit([this](auto& e) { Carry(e); }, effect);
    if (life != life_) return;
  }
}

// --------------------------------------------------------------------------------------------------- what it carries
// out

void SchedulerHost::Transmit(const scheduler::Send& send) {
  invariants_.OnWire(send);
  if (const auto gate = gates_.find(send.stream); gate != gates_.end() && send.message->has_acknowledgement()) {
    const v1::Acknowledgement& acknowledgement = send.message->acknowledgement();
    if (gate->second.TakeAnswer(acknowledgement.heartbeat_seq())) {
      network_.Answer(send.stream, acknowledgement);
      if (!acknowledgement.has_waiting()) return;
    }
  }
  if (!send.message->has_welcome() || !sim_.parameters.uses_datagrams) return network_.Send(send.stream, send.message);
  gates_[send.stream];
  auto offering = std::make_shared<v1::SchedulerMessage>(*send.message);
  offering->mutable_welcome()->mutable_datagrams()->set_stream(send.stream);
  offering->mutable_welcome()->mutable_datagrams()->set_takes_progress(true);
  network_.Send(send.stream, std::move(offering));
}

void SchedulerHost::Carry(scheduler::Send& send) { Transmit(send); }
void SchedulerHost::Carry(scheduler::CloseStream& close) { network_.CloseStream(close.stream); }

void SchedulerHost::Carry(scheduler::Answer& answer) {
  if (const auto call = store_calls_.find(answer.query); call != store_calls_.end()) {
    const StoreCall answered = std::move(call->second);
    store_calls_.erase(call);
    if (!answer.status.ok()) return answered.done(answer.status);
    const auto& reply = std::get<v1::StoreReply>(answer.reply);
    invariants_.OnStoreAnswer(answered.operation, reply);
    return answered.done(reply);
  }
  sim_.Expect(queries_.erase(answer.query) == 1, "a query was answered twice");
}

void SchedulerHost::Carry(scheduler::PublishPeers& publish) {
  published_[{publish.job_id, publish.run, publish.round}] = publish.peer_list;
}

void SchedulerHost::Carry(scheduler::ForgetPeers& forget) {
  std::erase_if(published_, [&](const auto& entry) {
    return std::get<0>(entry.first) == forget.job_id && std::get<1>(entry.first) == forget.run;
  });
}

void SchedulerHost::Carry(scheduler::Announce& announce) {
  sim_.Trace("scheduler says: ", announce.event->kind(), ": ", announce.event->text());
}

void SchedulerHost::Carry(scheduler::RunSettled& settled) {
  sim_.Trace("scheduler: run ", settled.run, " of ", settled.job_id, " is settled");
  if (!sim_.parameters.scheduler.is_once) return;
  is_for_good_ = true;
  sim_.timeline.After(random_.UpTo(absl::Milliseconds(100)), [this] { Crash(); });
}

}  // namespace muster::sim
