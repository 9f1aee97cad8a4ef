#include "bench/load/agent.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "worker_agent/session/channel.h"

namespace muster::bench {
namespace {

// The values of worker_agent/core/connection/connector.cc.
constexpr absl::Duration kFirstBackOff = absl::Milliseconds(100);
constexpr absl::Duration kMaxBackOff = absl::Seconds(3);

}  // namespace

Agent::Agent(const Context& context, grpc::CompletionQueue& queue, Datagrams& datagrams, Tally& tally, uint32_t number,
             size_t place)
    : context_(context),
      queue_(queue),
      datagrams_(datagrams),
      tally_(tally),
      place_(place),
      jitter_(number),
      back_off_(kFirstBackOff) {
  member_.number = number;
  member_.incarnation = 0x4d75737465720000u + number;
}

void Agent::Begin() {
  begun_ = Now();
  Dial();
}

void Agent::OnTime() {
  switch (phase_) {
    case Phase::kIdle:
      return;
    case Phase::kWaiting:
      return Dial();
    case Phase::kDialing:
      next_at_ = MonotonicTime::Never();  // it ends now and reports it
      return link_->Cancel();
    case Phase::kOpen:
      return Report();
  }
}

void Agent::Dial() {
  ++member_.connect_seq;
  phase_ = Phase::kDialing;
  next_at_ = Now() + context_.settings.patience;
  const grpc::ByteBuffer join =
      ToBytes(MakeJoin(context_.settings.job_id, context_.settings.agents, context_.settings.slots, member_));
  tally_.bytes += join.Length();
  link_ = std::make_unique<Link>(agent::MakeChannel(context_.target, context_.credentials, context_.settings.patience),
                                 queue_, join, place_, *this);
}

// Each slot has made a step since the last heartbeat.
void Agent::FillProgress(v1::Report& report) const {
  if (!context_.settings.progress) return;
  report.set_progress_round(desired_.round());
  for (uint32_t slot = 0; slot < context_.settings.slots; ++slot) {
    v1::SlotProgress& progress = *report.add_progress();
    progress.set_slot(slot);
    progress.set_output_step(heartbeat_seq_);
    progress.set_since_progress_ms(slot);
  }
}

void Agent::Report() {
  const MonotonicTime now = Now();
  next_at_ = now + interval_;
  const agent::HeartbeatPath::Way way = heartbeat_path_.Choose(now);
  if (reported_.is_never()) {  // else an earlier heartbeat waits for its answer: its delay is measured
    reported_ = now;
    is_measured_ = now >= tally_.window_begin && now < tally_.window_end;
    tally_.sent += is_measured_ ? 1 : 0;
  }
  size_t bytes = 0;
  if (way != agent::HeartbeatPath::Way::kDatagram) {
    v1::AgentMessage heartbeat = MakeHeartbeat(++heartbeat_seq_);
    FillProgress(*heartbeat.mutable_report());
    const grpc::ByteBuffer report = ToBytes(heartbeat);
    heartbeat_path_.StreamSent(heartbeat_seq_, now);
    link_->Send(report);
    bytes += report.Length();
  }
  if (way != agent::HeartbeatPath::Way::kStream) {
    v1::Report progress;
    FillProgress(progress);
    const std::string text = progress.SerializeAsString();
    datagrams_.Send(stream_, ++heartbeat_seq_, text);
    heartbeat_path_.DatagramSent(heartbeat_seq_);
    bytes += HeartbeatDatagram::kBytes + text.size();
  }
  if (is_measured_) tally_.bytes += bytes;
}

void Agent::OnMessage(const grpc::ByteBuffer& bytes) {
  v1::SchedulerMessage message;
  if (!FromBytes(bytes, message)) return link_->Cancel();
  if (message.has_acknowledgement()) {
    heartbeat_path_.StreamAnswered(message.acknowledgement().heartbeat_seq());
    return OnAcknowledged();
  }
  tally_.bytes += bytes.Length();
  if (message.has_welcome()) return OnWelcome(message);
  if (message.has_refusal()) refusal_ = message.refusal().text();
  if (message.has_desired()) OnDesired(std::move(*message.mutable_desired()), bytes.Length());
}

void Agent::OnWelcome(const v1::SchedulerMessage& message) {
  const v1::Welcome& welcome = message.welcome();
  const MonotonicTime now = Now();
  welcomed_ = now;
  member_.cluster_id = welcome.cluster_id();
  member_.run = welcome.run();
  member_.term = message.term();
  phase_ = Phase::kOpen;
  back_off_ = kFirstBackOff;
  const absl::Duration reported = absl::Milliseconds(welcome.heartbeat_interval_ms());
  interval_ = context_.settings.interval > absl::ZeroDuration() ? context_.settings.interval : reported;
  next_at_ = now + interval_ * jitter_.Factor(0.25, 1);  // like a real one, so that they don't stay in step
  const bool is_offered = welcome.has_datagrams() && datagrams_.Join(welcome.datagrams(), *this);
  stream_ = is_offered ? welcome.datagrams().stream() : 0;
  heartbeat_path_.StreamOpened(now, is_offered, jitter_);
}

void Agent::OnDesired(v1::DesiredState desired, size_t bytes) {
  if (!desired.has_assignment()) return;
  std::vector<uint32_t> ranks;
  for (const v1::SlotAssignment& slot : desired.assignment().slots()) ranks.push_back(slot.rank());
  if (!ranks_.empty() && ranks != ranks_) ++rank_changes_;
  ranks_ = std::move(ranks);
  assigned_ = Now();
  assignment_bytes_ = bytes;
  desired_ = std::move(desired);
  is_in_ = true;
}

void Agent::OnAnswered(uint64_t heartbeat_seq) {
  heartbeat_path_.DatagramAnswered(heartbeat_seq);
  OnAcknowledged();
}

void Agent::OnAcknowledged() {
  const MonotonicTime sent = std::exchange(reported_, MonotonicTime::Never());
  if (sent.is_never() || !std::exchange(is_measured_, false)) return;
  tally_.answer_us.push_back(static_cast<uint32_t>(absl::ToInt64Microseconds(Now() - sent)));
}

void Agent::OnOver(const grpc::Status& status) {
  if (phase_ == Phase::kOpen) {
    broken_ = Now();
    ++tally_.broken;
  } else {
    ++tally_.failed_dials;
  }
  tally_.last_error = absl::StrCat(static_cast<int>(status.error_code()), " ", status.error_message());
  is_in_ = false;
  reported_ = MonotonicTime::Never();
  is_measured_ = false;
  phase_ = Phase::kWaiting;
  next_at_ = Now() + jitter_.Around(back_off_, 0.3);
  back_off_ = std::min(back_off_ * 2, kMaxBackOff);
  link_ = nullptr;
  datagrams_.Leave(std::exchange(stream_, 0));
}

}  // namespace muster::bench
