#include "tests/sim/network.h"

#include <algorithm>
#include <utility>

#include "common/base/limits.h"

namespace muster::sim {
namespace {

constexpr absl::Duration kDetectionMin = absl::Seconds(8);  // dead-peer detection: see common/net/net.h
constexpr absl::Duration kDetectionMax = absl::Seconds(25);
constexpr absl::Duration kMaxStoreCall = absl::Milliseconds(kMaxStoreWaitMs);  // by then its stream has broken
constexpr char kRefused[] = "Connection refused";
constexpr double kLateDelivery = 0.2;  // messages read before the agent hung up may still reach the core

}  // namespace

Network::Network(Sim& sim, Random random)
    : sim_(sim),
      random_(random),
      store_random_(random.Fork()),
      datagram_random_(random.Fork()),
      links_(sim.parameters.machines.size()) {}

absl::Duration Network::Latency(size_t machine) {
  const MachineSpec& spec = sim_.parameters.machines[machine];
  return spec.latency + random_.UpTo(spec.jitter);
}

absl::Duration Network::DetectionTime() { return random_.Between(kDetectionMin, kDetectionMax); }

// A connection that is not accepted yet needs both directions.
bool Network::IsUpBlocked(const Connection& c) const {
  const Link& link = links_[c.machine];
  return link.is_up_blocked || (!c.is_accepted && link.is_down_blocked);
}

Network::Handle Network::NewConnection(AgentEnd* agent, size_t machine, uint64_t connect_seq) {
  auto c = std::make_shared<Connection>();
  c->id = ++last_id_;
  c->machine = machine;
  c->agent = agent;
  c->connect_seq = connect_seq;
  c->up.last = sim_.timeline.monotonic() + Latency(machine) * 2;
  connections_[c->id] = c;
  return c;
}

Network::Handle Network::Find(StreamId id) {
  const auto it = connections_.find(id);
  return it == connections_.end() ? nullptr : it->second;
}

Network::Handle Network::Current(AgentEnd* agent, uint64_t connect_seq) {
  const auto it = current_.find(agent);
  if (it == current_.end()) return nullptr;
  const auto stream = it->second.find(connect_seq);
  return stream == it->second.end() ? nullptr : Find(stream->second);
}

void Network::Forget(const Handle& c) {
  if (!c->is_open_here && !c->is_open_there && c->up.queue.empty() && c->down.queue.empty()) connections_.erase(c->id);
}

// ------------------------------------------------------------------------------------------------- the agent's side

void Network::Dial(AgentEnd* agent, size_t machine, uint64_t connect_seq, bool is_replacement) {
  if (!is_replacement) HangUp(agent);
  const FaultPlan& faults = sim_.parameters.faults;
  const bool is_peace = sim_.timeline.elapsed() >= sim_.parameters.faults_end;
  const Handle c = NewConnection(agent, machine, connect_seq);
  current_[agent][connect_seq] = c->id;
  if (is_peace) return;
  if (random_.Chance(faults.dial_loss)) {
    Break(c, absl::ZeroDuration(), random_.Between(absl::Seconds(1), absl::Seconds(40)), "Deadline exceeded");
    return;
  }
  if (random_.Chance(faults.dial_delay)) c->up.last = c->up.last + random_.UpTo(absl::Seconds(25));
  if (!random_.Chance(faults.dial_duplicate)) return;
  const Handle copy = NewConnection(nullptr, machine, connect_seq);
  copy->up.last = copy->up.last + random_.UpTo(random_.Chance(0.5) ? absl::Milliseconds(20) : absl::Seconds(20));
  c->copy = copy->id;
}

void Network::Send(AgentEnd* agent, uint64_t connect_seq, const v1::AgentMessage& message) {
  const Handle c = Current(agent, connect_seq);
  if (c == nullptr) return;
  if (const Handle copy = Find(std::exchange(c->copy, 0)); copy != nullptr) {
    Push(copy, copy->up, std::optional(message));
    PumpUp(copy);
    sim_.timeline.After(random_.UpTo(absl::Seconds(30)), [this, copy] {
      copy->is_open_there = false;
      Push(copy, copy->up, std::optional<v1::AgentMessage>());
      PumpUp(copy);
    });
  }
  Push(c, c->up, std::optional(message));
  PumpUp(c);
}

void Network::SendHeartbeat(AgentEnd* agent, uint64_t connect_seq, scheduler::HeartbeatReceived heartbeat) {
  const Handle c = Current(agent, connect_seq);
  if (c == nullptr) return;
  heartbeat.stream = c->id;
  SendDatagram(c->machine, [this, machine = c->machine, heartbeat] {
    if (!links_[machine].is_up_blocked && scheduler_->IsUp()) scheduler_->OnHeartbeat(heartbeat);
  });
}

void Network::HangUp(AgentEnd* agent, uint64_t connect_seq) {
  const auto it = current_.find(agent);
  if (it == current_.end()) return;
  const std::map<uint64_t, StreamId> streams = it->second;
  for (const auto& [seq, id] : streams) {
    if (connect_seq != 0 && seq != connect_seq) continue;
    it->second.erase(seq);
    const Handle c = Find(id);
    if (c == nullptr || !c->is_open_there) continue;
    c->is_open_there = false;
    Push(c, c->up, std::optional<v1::AgentMessage>());
    PumpUp(c);
    Forget(c);
  }
}

void Network::AgentDied(AgentEnd* agent, bool is_silent) {
  const std::map<uint64_t, StreamId> streams = current_[agent];
  if (!is_silent) HangUp(agent);
  current_.erase(agent);
  for (auto& [id, c] : connections_) {
    if (c->agent == agent) c->agent = nullptr;
  }
  if (!is_silent) return;
  for (const auto& [seq, id] : streams) {
    const Handle c = Find(id);
    if (c == nullptr || !c->is_open_there) continue;
    c->is_open_there = false;
    Break(c, DetectionTime(), absl::ZeroDuration(), "");
  }
}

void Network::GetPeers(size_t machine, const std::string& job_id, uint64_t run, uint32_t round, PeersReply reply) {
  const bool is_lost =
      sim_.timeline.elapsed() < sim_.parameters.faults_end && random_.Chance(sim_.parameters.faults.call_loss);
  sim_.timeline.After(Latency(machine), [this, machine, job_id, run, round, is_lost, reply = std::move(reply)] {
    if (is_lost || links_[machine].is_up_blocked || !scheduler_->IsUp()) {
      const absl::Duration wait = random_.UpTo(absl::Seconds(is_lost ? 40 : 3));
      sim_.timeline.After(wait, [reply] { reply(absl::UnavailableError("no answer"), nullptr); });
      return;
    }
    const std::shared_ptr<const std::string> peers = scheduler_->GetPeers(job_id, run, round);
    sim_.timeline.After(Latency(machine), [this, machine, peers, reply] {
      if (links_[machine].is_down_blocked) return reply(absl::UnavailableError("connection reset"), nullptr);
      if (peers == nullptr) return reply(absl::NotFoundError("that round is not published"), nullptr);
      reply(absl::OkStatus(), peers);
    });
  });
}

void Network::SendLastReport(size_t machine, const v1::LastReportRequest& last_report) {
  const FaultPlan& faults = sim_.parameters.faults;
  const bool is_peace = sim_.timeline.elapsed() >= sim_.parameters.faults_end;
  const int copies = is_peace || !random_.Chance(faults.dial_duplicate) ? 1 : 2;
  for (int i = 0; i < copies; ++i) {
    if (!is_peace && random_.Chance(faults.call_loss)) continue;
    const bool is_late = !is_peace && random_.Chance(faults.dial_delay);
    const absl::Duration delay = Latency(machine) * 2 + (is_late ? random_.UpTo(absl::Seconds(60)) : absl::Duration());
    sim_.timeline.After(delay, [this, machine, last_report] {
      if (!links_[machine].is_up_blocked && scheduler_->IsUp()) scheduler_->OnLastReport(last_report);
    });
  }
}

void Network::CallStore(size_t machine, const scheduler::StoreOperation& operation, SchedulerEnd::StoreDone done) {
  const FaultPlan& faults = sim_.parameters.faults;
  const bool is_peace = sim_.timeline.elapsed() >= sim_.parameters.faults_end;
  const auto is_open = std::make_shared<bool>(true);
  const auto finish = [is_open, done = std::move(done)](absl::StatusOr<v1::StoreReply> reply) {
    if (std::exchange(*is_open, false)) done(std::move(reply));
  };
  sim_.timeline.After(kMaxStoreCall, [finish] { finish(absl::DeadlineExceededError("no answer in time")); });
  const int copies = is_peace || !store_random_.Chance(faults.dial_duplicate) ? 1 : 2;
  for (int i = 0; i < copies; ++i) {
    const MachineSpec& spec = sim_.parameters.machines[machine];
    absl::Duration delay = spec.latency + store_random_.UpTo(spec.jitter);
    if (i > 0) delay += store_random_.UpTo(absl::Seconds(20));
    const bool is_lost = !is_peace && store_random_.Chance(faults.call_loss);
    const bool is_answer_lost = !is_peace && store_random_.Chance(faults.call_loss);
    sim_.timeline.After(delay, [this, machine, operation, delay, is_lost, is_answer_lost, finish] {
      if (is_lost || links_[machine].is_up_blocked) return;
      if (!scheduler_->IsUp()) return finish(absl::UnavailableError(kRefused));
      scheduler_->OnStoreCall(operation, [this, machine, delay, is_answer_lost, finish](auto reply) {
        sim_.timeline.After(delay, [this, machine, is_answer_lost, finish, reply = std::move(reply)] {
          if (!is_answer_lost && !links_[machine].is_down_blocked) finish(reply);
        });
      });
    });
  }
}

// --------------------------------------------------------------------------------------------- the scheduler's side

void Network::Send(StreamId stream, std::shared_ptr<const v1::SchedulerMessage> message) {
  const Handle c = Find(stream);
  if (c == nullptr || !c->is_open_here) return;
  Push(c, c->down, std::move(message));
  PumpDown(c);
}

void Network::Answer(StreamId stream, const v1::Acknowledgement& acknowledgement) {
  const Handle c = Find(stream);
  if (c == nullptr) return;
  SendDatagram(c->machine, [this, c, acknowledgement] {
    if (links_[c->machine].is_down_blocked || c->agent == nullptr || !c->is_open_there) return;
    c->agent->OnAnswered(c->connect_seq, acknowledgement);
  });
}

void Network::SendDatagram(size_t machine, std::function<void()> arrive) {
  const FaultPlan& faults = sim_.parameters.faults;
  const bool is_peace = sim_.timeline.elapsed() >= sim_.parameters.faults_end;
  const MachineSpec& spec = sim_.parameters.machines[machine];
  const int copies = is_peace || !datagram_random_.Chance(faults.dial_duplicate) ? 1 : 2;
  for (int i = 0; i < copies; ++i) {
    if (!is_peace && datagram_random_.Chance(faults.call_loss)) continue;
    absl::Duration delay = spec.latency + datagram_random_.UpTo(spec.jitter);
    if (!is_peace && datagram_random_.Chance(faults.dial_delay)) delay += datagram_random_.UpTo(absl::Seconds(20));
    sim_.timeline.After(delay, arrive);
  }
}

void Network::CloseStream(StreamId stream) {
  const Handle c = Find(stream);
  if (c == nullptr || !c->is_open_here) return;
  Push(c, c->down, std::shared_ptr<const v1::SchedulerMessage>());
  PumpDown(c);
  c->up.is_cut = true;
  c->up.queue.clear();
  EndHere(c);
}

void Network::SchedulerDied() {
  const std::map<StreamId, Handle> all = connections_;
  for (const auto& [id, c] : all) {
    if (!c->is_accepted) continue;
    c->is_open_here = false;
    const Link& link = links_[c->machine];
    Break(c, absl::ZeroDuration(), link.is_down_blocked ? DetectionTime() : Latency(c->machine), "Connection reset");
  }
}

// ------------------------------------------------------------------------------------------------------- connections

template <typename Message>
void Network::Push(const Handle& c, Direction<Message>& direction, Message message) {
  if (direction.is_cut) return;
  direction.last = std::max(direction.last, sim_.timeline.monotonic() + Latency(c->machine));
  direction.queue.push_back({direction.last, std::move(message)});
  sim_.Note(c->id);
  sim_.Note(static_cast<uint64_t>(direction.last.nanoseconds()));
}

void Network::PumpUp(const Handle& c) {
  if (c->up.is_pumping || c->up.queue.empty() || IsUpBlocked(*c)) return;
  c->up.is_pumping = true;
  sim_.timeline.At(c->up.queue.front().ready, [this, c] {
    c->up.is_pumping = false;
    if (c->up.is_cut || c->up.queue.empty() || IsUpBlocked(*c)) return;
    const std::optional<v1::AgentMessage> message = std::move(c->up.queue.front().message);
    c->up.queue.pop_front();
    DeliverUp(c, message);
    PumpUp(c);
    Forget(c);
  });
}

void Network::PumpDown(const Handle& c) {
  if (c->down.is_pumping || c->down.queue.empty() || links_[c->machine].is_down_blocked) return;
  c->down.is_pumping = true;
  sim_.timeline.At(c->down.queue.front().ready, [this, c] {
    c->down.is_pumping = false;
    if (c->down.is_cut || c->down.queue.empty() || links_[c->machine].is_down_blocked) return;
    const std::shared_ptr<const v1::SchedulerMessage> message = std::move(c->down.queue.front().message);
    c->down.queue.pop_front();
    DeliverDown(c, message);
    PumpDown(c);
    Forget(c);
  });
}

void Network::DeliverUp(const Handle& c, const std::optional<v1::AgentMessage>& message) {
  if (!message) {
    if (c->is_accepted) EndHere(c);
    return;
  }
  if (!c->is_accepted) {
    if (!scheduler_->IsUp()) return Break(c, absl::ZeroDuration(), Latency(c->machine), kRefused);
    c->is_accepted = true;
    c->is_open_here = true;
  }
  if (!c->is_open_here) return;
  scheduler_->OnMessage(c->id, sim_.parameters.machines[c->machine].address, *message);
}

void Network::DeliverDown(const Handle& c, const std::shared_ptr<const v1::SchedulerMessage>& message) {
  if (message == nullptr) return EndThere(c, "the scheduler closed the stream");
  if (c->agent == nullptr || (!c->is_open_there && !random_.Chance(kLateDelivery))) return;
  c->agent->OnMessage(c->connect_seq, *message);
}

void Network::EndHere(const Handle& c) {
  if (!c->is_open_here) return;
  c->is_open_here = false;
  sim_.timeline.After(random_.UpTo(absl::Milliseconds(2)), [this, id = c->id] { scheduler_->OnClosed(id); });
}

void Network::EndThere(const Handle& c, const std::string& reason) {
  if (!c->is_open_there) return;
  c->is_open_there = false;
  if (c->agent != nullptr) c->agent->OnBroken(c->connect_seq, reason);
}

// Nothing passes any more; each end learns of it at its own time.
void Network::Break(const Handle& c, absl::Duration here_after, absl::Duration there_after, const std::string& reason) {
  c->up.is_cut = c->down.is_cut = true;
  c->up.queue.clear();
  c->down.queue.clear();
  sim_.timeline.After(here_after, [this, c] {
    EndHere(c);
    Forget(c);
  });
  sim_.timeline.After(there_after, [this, c, reason] {
    EndThere(c, reason);
    Forget(c);
  });
}

// ------------------------------------------------------------------------------------------------------------- faults

void Network::BreakOne(Random& random) {
  std::vector<Handle> open;
  for (const auto& [id, c] : connections_) {
    if (c->is_open_there && !c->up.is_cut) open.push_back(c);
  }
  if (open.empty()) return;
  const Handle& c = random.Pick(open);
  const auto delay = [&] { return random.UpTo(random.Chance(0.5) ? absl::Milliseconds(50) : kDetectionMax); };
  const absl::Duration here = delay();
  const absl::Duration there = delay();
  sim_.Trace("fault: connection ", c->id, " of machine ", c->machine, " breaks");
  Break(c, here, there, "Connection reset");
}

void Network::Partition(size_t machine, bool up, bool down, absl::Duration length) {
  Link& link = links_[machine];
  if (link.is_up_blocked || link.is_down_blocked) return;
  sim_.Trace("fault: machine ", machine, " is cut off", up ? " up" : "", down ? " down" : "", " for ",
             absl::FormatDuration(length));
  link.is_up_blocked = up;
  link.is_down_blocked = down;
  const uint64_t epoch = ++link.epoch;
  for (const auto& [id, c] : connections_) {
    if (c->machine != machine) continue;
    const auto give_up = [this, c = c, machine, epoch](bool is_here) {
      if (links_[machine].epoch != epoch || c->up.is_cut) return;
      const absl::Duration at_once;  // zero: the other end finds out by itself
      Break(c, is_here ? at_once : DetectionTime(), is_here ? DetectionTime() : at_once, "Connection timed out");
    };
    sim_.timeline.After(DetectionTime(), [give_up] { give_up(true); });
    sim_.timeline.After(DetectionTime(), [give_up] { give_up(false); });
  }
  sim_.timeline.After(length, [this, machine, epoch] {
    if (links_[machine].epoch == epoch) Heal(machine);
  });
}

void Network::Heal(size_t machine) {
  Link& link = links_[machine];
  if (!link.is_up_blocked && !link.is_down_blocked) return;
  sim_.Trace("machine ", machine, " is connected again");
  link.is_up_blocked = link.is_down_blocked = false;
  ++link.epoch;
  for (const auto& [id, c] : connections_) {
    if (c->machine != machine) continue;
    const MonotonicTime again = sim_.timeline.monotonic() + random_.UpTo(absl::Seconds(3));  // retransmission
    for (auto& item : c->up.queue) item.ready = std::max(item.ready, again);
    for (auto& item : c->down.queue) item.ready = std::max(item.ready, again);
    c->up.last = std::max(c->up.last, again);
    c->down.last = std::max(c->down.last, again);
    PumpUp(c);
    PumpDown(c);
  }
}

void Network::HealAll() {
  for (size_t machine = 0; machine < links_.size(); ++machine) Heal(machine);
}

}  // namespace muster::sim
