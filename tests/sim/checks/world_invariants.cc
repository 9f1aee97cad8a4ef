#include "tests/sim/checks/world_invariants.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "common/causes/failure_kind.h"
#include "common/hosts/compare.h"
#include "tests/sim/actors/keeper.h"

namespace muster::sim {
namespace {

// The scheduler's loop acts a little later than planned.
constexpr absl::Duration kSlack = absl::Seconds(1);

}  // namespace

void WorldInvariants::OnSchedulerStart(const std::vector<v1::Record>& durable) {
  appended_ = durable_ = Ledger();
  for (const v1::Record& record : durable) {
    appended_.Take(record);
    durable_.Take(record);
  }
  streams_.clear();
  presence_.clear();
  last_reports_.clear();
  fenced_.clear();
  first_join_.clear();
  connects_.clear();
  started_ = excused_ = sim_.timeline.monotonic();
}

void WorldInvariants::OnApplied(const scheduler::Event& event, const scheduler::Effects& effects) {
  NoteEvent(event);
  CheckEffects(effects);
}

void WorldInvariants::OnStartEffects(const scheduler::Effects& effects) { CheckEffects(effects); }

// ----------------------------------------------------------------------------------------------------------- records

void WorldInvariants::NoteEvent(const scheduler::Event& event) {
  const MonotonicTime now = sim_.timeline.monotonic();
  if (const auto* join = std::get_if<scheduler::JoinRequested>(&event)) {
    streams_[join->stream].join = join->join;
    streams_[join->stream].order = ++last_order_;
    first_join_.try_emplace(join->join.incarnation(), last_order_);
  }
  if (const auto* closed = std::get_if<scheduler::StreamClosed>(&event)) NoteClosed(closed->stream);
  if (std::holds_alternative<scheduler::LoopWasLate>(event)) excused_ = now;
  if (const auto* last_report = std::get_if<scheduler::LastReportReceived>(&event)) {
    last_reports_.insert(last_report->last_report.incarnation());
  }
  if (const auto* steer = std::get_if<scheduler::SteerRequested>(&event);
      steer != nullptr && steer->request.action() == v1::SteerRequest::FENCE) {
    fenced_.insert({steer->request.job_id(), steer->request.node_id()});
  }
  if (const auto* report = std::get_if<scheduler::ReportReceived>(&event)) {
    NoteHeard(report->stream, report->report.heartbeat_seq());
  }
  if (const auto* heartbeat = std::get_if<scheduler::HeartbeatReceived>(&event)) {
    NoteHeard(heartbeat->stream, heartbeat->heartbeat_seq);
  }
}

void WorldInvariants::NoteHeard(StreamId id, uint64_t heartbeat_seq) {
  Stream& stream = streams_[id];
  if (heartbeat_seq <= stream.heartbeat_seq) return;  // an older one that came later
  stream.heartbeat_seq = heartbeat_seq;
  const auto it = presence_.find(stream.node);
  if (stream.is_welcomed && it != presence_.end() && it->second.stream == id) {
    it->second.heard = sim_.timeline.monotonic();
  }
}

void WorldInvariants::CheckEffects(const scheduler::Effects& effects) {
  for (const scheduler::Effect& effect : effects) {
    if (const auto* persist = std::get_if<scheduler::Persist>(&effect)) CheckRecord(persist->record);
    if (const auto* close = std::get_if<scheduler::CloseStream>(&effect)) NoteClosed(close->stream);
    if (const auto* send = std::get_if<scheduler::Send>(&effect); send != nullptr && send->message->has_welcome()) {
      NoteWelcome(send->stream, send->message->welcome());
    }
    if (const auto* line = std::get_if<scheduler::Announce>(&effect);
        line != nullptr && line->event->kind() == "self_suspicion") {
      excused_ = sim_.timeline.monotonic();
    }
  }
}

void WorldInvariants::CheckRecord(const v1::Record& record) {
  if (record.has_node_removed()) CheckRemoval(record.node_removed());
  if (record.has_node_lost()) {
    const v1::NodeLost& lost = record.node_lost();
    v1::NodeRemoved removal;
    removal.set_job_id(lost.job_id());
    removal.set_run(lost.run());
    removal.set_node_id(lost.node_id());
    removal.set_incarnation(lost.incarnation());
    removal.set_why(lost.why());
    removal.set_is_confirmed(lost.is_confirmed());
    CheckRemoval(removal);
  }
  if (record.has_incarnation_gone()) {
    const v1::IncarnationGone& gone = record.incarnation_gone();
    sim_.Expect(
        !processes_.IsAnyAlive(gone.incarnation()),
        absl::StrCat("node ", gone.node_id(), " was confirmed dead (", gone.reason(), "), but its processes live"));
  }
  if (record.has_run_ended()) CheckEnd(record.run_ended());
  if (record.has_node_draining()) CheckDraining(record.node_draining());
  if (record.has_node_reported()) {
    const v1::NodeReported& reported = record.node_reported();
    for (const v1::NodeEvent& event : reported.events()) {
      if (event.has_checked()) passed_checks_.insert({reported.incarnation(), event.checked().round()});
    }
  }
  if (record.has_round_closed()) CheckNodeCheck(record.round_closed());
  if (record.has_round_aborted()) {
    const v1::RoundAborted& aborted = record.round_aborted();
    CheckHang(NameOf(aborted.job_id(), aborted.run()), aborted.round(), aborted.first());
  }
  const std::string contradiction = appended_.Take(record);
  sim_.Expect(contradiction.empty(), absl::StrCat("the journal's history is unsound: ", contradiction));
}

// Another start claimed the node's id after this incarnation had come.
bool WorldInvariants::HasNewerRival(const v1::NodeRemoved& removed) const {
  const auto first = first_join_.find(removed.incarnation());
  const uint64_t came = first == first_join_.end() ? 0 : first->second;
  return std::any_of(streams_.begin(), streams_.end(), [&](const auto& entry) {
    const Stream& stream = entry.second;
    return stream.order > came && stream.join.job_id() == removed.job_id() &&
           stream.join.node_id() == removed.node_id() && stream.join.incarnation() != removed.incarnation();
  });
}

// A node may be given up if it was silent or away for long enough, or if a report that can be trusted says that it is
// dead.
void WorldInvariants::CheckRemoval(const v1::NodeRemoved& removed) {
  const NodeKey key{removed.job_id(), removed.run(), removed.node_id()};
  const auto it = presence_.find(key);
  const MonotonicTime now = sim_.timeline.monotonic();
  const scheduler::CoreOptions& options = sim_.parameters.scheduler;
  const std::string who = absl::StrCat("node ", removed.node_id(), " of run ", removed.run());
  const bool has_last_report = last_reports_.contains(removed.incarnation());
  const bool has_rival = HasNewerRival(removed);
  if (removed.is_confirmed()) {
    // This is also true when a newer start has come: only a start that holds the lock may confirm the old one's end.
    sim_.Expect(!processes_.IsAnyAlive(removed.incarnation()),
                absl::StrCat(who, " was given up for certain, but its processes live"));
  }
  if (removed.is_confirmed() && has_last_report) {
    sim_.Expect(ended_agents_.contains(removed.incarnation()), absl::StrCat(who, " was called dead but lives"));
  }
  const bool is_fenced = fenced_.contains({removed.job_id(), removed.node_id()});
  if (removed.why() == v1::NodeRemoved::LOST && !has_last_report && !has_rival && !is_fenced) {
    if (it == presence_.end()) {
      sim_.Expect(now >= started_ + options.disconnect_grace, absl::StrCat(who, " was lost right after a restart"));
    } else if (it->second.stream != 0) {
      sim_.Expect(now >= it->second.heard + options.lease,
                  absl::StrCat(who, " was lost by its lease of ", absl::FormatDuration(options.lease), " only ",
                               absl::FormatDuration(now - it->second.heard), " after its last heartbeat"));
    } else {
      // If a heartbeat was missing when the connection broke, the grace counts from the last one.
      const absl::Duration interval =
          options.heartbeat_interval.value_or(std::min(absl::Seconds(2), options.lease / 3));
      const MonotonicTime heard = it->second.heard, away = it->second.away_since;
      MonotonicTime due = away + options.disconnect_grace;
      if (away - heard >= 1.5 * interval) {
        due = std::min(due, std::max(away + absl::Seconds(2), heard + options.disconnect_grace));
      }
      sim_.Expect(now >= due, absl::StrCat(who, " was lost within disconnect_grace"));
    }
  }
  if (removed.why() == v1::NodeRemoved::LEFT) {
    sim_.Expect(!processes_.IsAnyAlive(removed.incarnation()), absl::StrCat(who, " left, but its processes live"));
  }
  if (it != presence_.end()) presence_.erase(it);
}

void WorldInvariants::CheckEnd(const v1::RunEnded& ended) {
  const RunLedger* run = appended_.Find(ended.job_id(), ended.run());
  if (run == nullptr) return;
  const RunName name = NameOf(ended.job_id(), ended.run());
  const v1::Cause& cause = ended.outcome().cause();
  if (ended.outcome().succeeded()) {
    sim_.Expect(run->round > 0, absl::StrCat(name.Text(), " succeeded without a round"));
    for (const auto& [node, given] : run->ranks) {
      for (const uint32_t rank : given.second) {
        const PlaceName place{name, run->round, given.first, rank};
        sim_.Expect(processes_.HasDied(place, {0, 0}),
                    absl::StrCat(name.Text(), " succeeded, but ", place.Text(), " never ended with 0"));
      }
    }
  } else if (cause.kind() == v1::Cause::PROCESS_EXITED || cause.kind() == v1::Cause::PROCESS_SIGNALED) {
    const PlaceName place{name, run->round, cause.role(), cause.rank()};
    sim_.Expect(processes_.HasDied(place, {cause.exit_code(), cause.signal()}),
                absl::StrCat("the cause of ", name.Text(), " never happened: ", cause.text()));
  } else {
    sim_.Expect(!cause.text().empty(), absl::StrCat(name.Text(), " failed without a cause"));
  }
  CheckHang(name, run->round, cause);
}

// The scheduler drains a node only if its device is broken, or if it crashed in several rounds; and only for a spare.
void WorldInvariants::CheckDraining(const v1::NodeDraining& draining) {
  if (!draining.is_draining() || !absl::StartsWith(draining.reason(), "drained by the scheduler")) return;
  const RunLedger* run = appended_.Find(draining.job_id(), draining.run());
  if (run == nullptr) return;
  const RunName name = NameOf(draining.job_id(), draining.run());
  bool has_broken_device = false;
  std::set<uint32_t> crashed_rounds;
  for (const auto& [place, owner] : assigned_) {
    if (!(place.run == name) || owner.first != draining.node_id()) continue;
    has_broken_device |= place.round == run->round && processes_.HasDied(place, {kBrokenDevice, 0});
    if (processes_.HasDied(place, {0, 11})) crashed_rounds.insert(place.round);
  }
  sim_.Expect(has_broken_device || crashed_rounds.size() >= sim_.parameters.scheduler.max_node_failures,
              absl::StrCat("node ", draining.node_id(), " of ", name.Text(), " is healthy, but: ", draining.reason()));
  const bool has_spare = std::any_of(run->roster.begin(), run->roster.end(), [&](const auto& entry) {
    const auto at = presence_.find({draining.job_id(), draining.run(), entry.first});
    return !run->ranks.contains(entry.first) && at != presence_.end() && at->second.stream != 0;
  });
  sim_.Expect(has_spare,
              absl::StrCat("node ", draining.node_id(), " of ", name.Text(), " was drained without a spare"));
}

// After a failure that may come from the node, the node's agent must pass its node check before the next round.
void WorldInvariants::CheckNodeCheck(const v1::RoundClosed& closed) {
  const v1::Cause& cause = closed.cause();
  const RunLedger* run = appended_.Find(closed.job_id(), closed.run());
  if (!CallsForNodeCheck(cause) || run == nullptr) return;
  const RunName name = NameOf(closed.job_id(), closed.run());
  const auto member = run->roster.find(cause.node_id());
  if (member == run->roster.end() || run->lost.contains(cause.node_id())) return;
  const uint64_t incarnation = member->second;
  const bool has_check = std::any_of(streams_.begin(), streams_.end(), [&](const auto& entry) {
    return entry.second.join.incarnation() == incarnation && !FactOf(entry.second.join.node(), kFactNodeCheck).empty();
  });
  const bool has_failed = std::any_of(assigned_.begin(), assigned_.end(), [&](const auto& entry) {
    return entry.first.run == name && entry.first.round == run->round && entry.second.second == incarnation;
  });
  sim_.Expect(!has_check || !has_failed || passed_checks_.contains({incarnation, run->round}),
              absl::StrCat("round ", closed.round(), " of ", name.Text(), " closed before node ", cause.node_id(),
                           " had passed its node check after: ", cause.text()));
}

void WorldInvariants::CheckHang(const RunName& name, uint32_t round, const v1::Cause& cause) {
  if (cause.kind() != v1::Cause::NO_PROGRESS) return;
  const PlaceName place{name, round, cause.role(), cause.rank()};
  sim_.Expect(processes_.HasHung(place), absl::StrCat(place.Text(), " makes steps, but: ", cause.text()));
}

void WorldInvariants::OnDurable(const v1::Record& record) {
  durable_.Take(record);
  if (record.has_round_closed()) {
    const v1::RoundClosed& closed = record.round_closed();
    durable_rounds_.insert({NameOf(closed.job_id(), closed.run()), closed.round()});
  }
  if (record.has_run_ended()) {
    const v1::RunEnded& ended = record.run_ended();
    outcomes_[NameOf(ended.job_id(), ended.run())] = ended.outcome().SerializeAsString();
  }
}

void WorldInvariants::OnStoreAnswer(const scheduler::StoreOperation& operation, const v1::StoreReply& reply) {
  const v1::StoreCaller& caller =
      std::visit([](const auto& request) -> const v1::StoreCaller& { return request.caller(); }, operation);
  const RunLedger* run = durable_.Find(caller.job_id(), caller.run());
  sim_.Expect(run != nullptr, "the store of a run that isn't there gave an answer");
  if (run == nullptr) return;
  const std::string wrong = run->store.CheckAnswer(operation, reply);
  sim_.Expect(wrong.empty(), wrong);
}

// When a lease or a grace period has ended, the loss of the node must follow.
void WorldInvariants::CheckLossesAreInTime() {
  const MonotonicTime now = sim_.timeline.monotonic();
  const scheduler::CoreOptions& options = sim_.parameters.scheduler;
  for (const auto& [name, run] : appended_.runs()) {
    if (run.has_ended) continue;
    for (const auto& [id, incarnation] : run.roster) {
      if (run.lost.contains(id)) continue;
      const auto it = presence_.find({name.first, name.second, id});
      MonotonicTime due;
      if (it == presence_.end()) {
        due = std::max(started_, excused_) + std::max(options.lease, options.disconnect_grace);
      } else if (it->second.stream != 0) {
        due = std::max(it->second.heard, excused_) + options.lease;
      } else {
        due = std::max(it->second.away_since, excused_) + options.disconnect_grace;
      }
      sim_.Expect(now <= due + kSlack, absl::StrCat("node ", id, " of run ", name.second, " should have been lost ",
                                                    absl::FormatDuration(now - due), " ago"));
    }
  }
}

// ---------------------------------------------------------------------------------------------------------- messages

void WorldInvariants::NoteWelcome(StreamId id, const v1::Welcome& welcome) {
  Stream& stream = streams_[id];
  stream.is_welcomed = true;
  stream.node = {welcome.job_id(), welcome.run(), welcome.node_id()};
  const MonotonicTime now = sim_.timeline.monotonic();
  presence_[stream.node] = {id, stream.join.incarnation(), now, now};
  const RunLedger* run = appended_.Find(welcome.job_id(), welcome.run());
  const auto known =
      run == nullptr ? std::map<std::string, uint64_t>::const_iterator() : run->roster.find(welcome.node_id());
  sim_.Expect(run != nullptr && known != run->roster.end() && known->second == stream.join.incarnation(),
              absl::StrCat("node ", welcome.node_id(), " (", stream.join.incarnation(),
                           ") was welcomed though the node's incarnation is another"));
  uint64_t& last = connects_[{stream.join.incarnation(), welcome.run()}];
  sim_.Expect(stream.join.connect_seq() > last, absl::StrCat("connect ", stream.join.connect_seq(), " of ",
                                                             welcome.node_id(), " was let in after ", last));
  last = std::max(last, stream.join.connect_seq());
}

void WorldInvariants::NoteClosed(StreamId id) {
  const auto stream = streams_.find(id);
  if (stream == streams_.end() || !stream->second.is_welcomed) return;
  const auto it = presence_.find(stream->second.node);
  if (it == presence_.end() || it->second.stream != id) return;
  it->second.stream = 0;
  it->second.away_since = sim_.timeline.monotonic();
}

void WorldInvariants::OnWire(const scheduler::Send& send) {
  const Stream& stream = streams_[send.stream];
  const v1::SchedulerMessage& message = *send.message;
  uint64_t& term = last_term_[durable_.cluster_id().empty() ? appended_.cluster_id() : durable_.cluster_id()];
  sim_.Expect(message.term() >= term, "the term fell");
  term = std::max(term, message.term());
  if (message.refusal().reason() == v1::Refusal::DRAINED) drained_.insert(stream.join.incarnation());
  if (message.has_refusal() || message.has_probe() || message.has_stack_query()) return;
  sim_.Expect(stream.is_welcomed, "a stream got a message before its welcome");
  sim_.Expect(send.is_urgent || durable_.term() == message.term(), "a term was sent before it was durable");
  if (message.has_welcome()) CheckWelcome(stream, message.welcome());
  if (message.has_desired()) CheckDesired(stream, message.desired(), send.is_urgent);
  if (message.has_acknowledgement()) CheckAcknowledgement(stream, message.acknowledgement());
}

void WorldInvariants::CheckWelcome(const Stream& stream, const v1::Welcome& welcome) {
  const v1::Join& join = stream.join;
  const std::string who = absl::StrCat("node ", welcome.node_id(), " (", join.incarnation(), ")");
  const RunLedger* run = durable_.Find(welcome.job_id(), welcome.run());
  if (run == nullptr) return sim_.Violate(absl::StrCat(who, " was welcomed in a run that is not durable"));
  sim_.Expect(welcome.cluster_id() == durable_.cluster_id(), absl::StrCat(who, " got another cluster"));
  sim_.Expect(join.run() == 0 || join.run() == welcome.run(), absl::StrCat(who, " was moved to another run"));
  sim_.Expect(join.cluster_id().empty() || join.cluster_id() == welcome.cluster_id(),
              absl::StrCat(who, " was welcomed though it belongs to another cluster"));
  sim_.Expect(run->joined.contains(join.incarnation()), absl::StrCat(who, " was welcomed before that was durable"));
  const auto events = run->events_through.find(join.incarnation());
  if (events == run->events_through.end()) return;  // removed since: the end of the stream comes next
  sim_.Expect(welcome.events_through() <= events->second,
              absl::StrCat(who, " got an acknowledgement of events that are not durable"));
}

void WorldInvariants::CheckDesired(const Stream& stream, const v1::DesiredState& desired, bool is_urgent) {
  const auto& [job_id, number, node_id] = stream.node;
  const RunName name = NameOf(job_id, number);
  const std::string who = absl::StrCat("node ", node_id, " of ", name.Text());
  sim_.Expect(desired.run() == number, absl::StrCat(who, " got run ", desired.run()));
  const RunLedger* run = durable_.Find(job_id, desired.run());
  // A message may go out before its records are durable only if it just stops processes.
  sim_.Expect(!is_urgent || (!desired.has_assignment() && (desired.phase() == v1::RUN_PHASE_STOPPING ||
                                                           desired.phase() == v1::RUN_PHASE_RECOVERING)),
              absl::StrCat(who, " got an order too early"));
  if (is_urgent) return;
  if (run == nullptr) return sim_.Violate(absl::StrCat(who, " got a run that is not durable"));
  sim_.Expect(desired.round() <= run->round, absl::StrCat(who, " got a round that is not durable"));
  if (desired.round() == run->round && run->round > 0) {
    sim_.Expect(desired.peers_digest() == run->digest, absl::StrCat(who, " got another digest than the others"));
  }
  if (desired.has_outcome()) {
    const auto outcome = outcomes_.find(name);
    sim_.Expect(outcome != outcomes_.end(), absl::StrCat(who, " got an outcome that is not durable"));
    if (outcome != outcomes_.end()) {
      sim_.Expect(desired.outcome().SerializeAsString() == outcome->second,
                  absl::StrCat(who, " got another outcome than the others"));
    }
  }
  if (!desired.has_assignment()) return;
  const v1::Assignment& assignment = desired.assignment();
  std::vector<uint32_t> ranks;
  for (const v1::SlotAssignment& slot : assignment.slots()) {
    ranks.push_back(slot.rank());
    if (!slot.should_run()) continue;
    const auto holder = std::make_pair(node_id, stream.join.incarnation());
    const PlaceName place{name, desired.round(), assignment.role(), slot.rank()};
    const auto [assigned, is_first] = assigned_.try_emplace(place, holder);
    sim_.Expect(is_first || assigned->second == holder,
                absl::StrCat(place.Text(), " was given to ", node_id, " and to ", assigned->second.first));
  }
  if (desired.round() < run->round) return;  // became durable together with a later round
  const auto given = run->ranks.find(node_id);
  sim_.Expect(given != run->ranks.end() && given->second.second == ranks && given->second.first == assignment.role(),
              absl::StrCat(who, " got other ranks than the round's"));
}

void WorldInvariants::CheckAcknowledgement(const Stream& stream, const v1::Acknowledgement& acknowledgement) {
  const auto& [job_id, number, node_id] = stream.node;
  const RunLedger* run = durable_.Find(job_id, number);
  const auto it = run == nullptr ? std::map<uint64_t, uint64_t>::const_iterator()
                                 : run->events_through.find(stream.join.incarnation());
  if (run == nullptr || it == run->events_through.end()) return;  // the node was removed in the meantime
  sim_.Expect(acknowledgement.events_through() <= it->second,
              absl::StrCat("events of node ", node_id, " were acknowledged before they were durable"));
}

// ------------------------------------------------------------------------------------------------------------ agents

void WorldInvariants::OnWelcomeTaken(uint64_t incarnation, const RunName& run) {
  const auto [it, is_first] = run_of_.try_emplace(incarnation, run);
  if (is_first || it->second == run) return;
  // An agent may begin again with another scheduler, as long as it has started nothing for the old one.
  sim_.Expect(it->second.cluster_id != run.cluster_id && !launched_.contains(incarnation),
              absl::StrCat("an agent of ", it->second.Text(), " went over to ", run.Text()));
  it->second = run;
}

void WorldInvariants::OnLaunch(uint64_t incarnation, const PlaceName& place) {
  launched_.insert(incarnation);
  sim_.Expect(durable_rounds_.contains({place.run, place.round}),
              absl::StrCat(place.Text(), " was started before its round was durable"));
  const auto assigned = assigned_.find(place);
  sim_.Expect(assigned != assigned_.end() && assigned->second.second == incarnation,
              absl::StrCat(place.Text(), " was started by an agent without the order to do so"));
}

void WorldInvariants::OnFinish(uint64_t incarnation, const RunName& run, int exit_code, const v1::Outcome& outcome) {
  const auto truth = outcomes_.find(run);
  const bool has_outcome = outcome.succeeded() || outcome.has_cause();
  if (has_outcome) {
    sim_.Expect(truth != outcomes_.end() && truth->second == outcome.SerializeAsString(),
                absl::StrCat("an agent of ", run.Text(),
                             " ended with an outcome that is not the run's: ", outcome.ShortDebugString()));
    sim_.Expect(!outcome.succeeded() || exit_code == 0 || exit_code > 128,
                absl::StrCat("an agent of ", run.Text(), ", which succeeded, ended with ", exit_code));
  }
  if (exit_code != 0) return;
  if (drained_.contains(incarnation)) return;
  v1::Outcome recorded;
  sim_.Expect(truth != outcomes_.end() && recorded.ParseFromString(truth->second) && recorded.succeeded(),
              absl::StrCat("an agent (", incarnation, ") ended with 0, but ", run.Text(), " did not succeed"));
}

// ----------------------------------------------------------------------------------------------------------- the end

void WorldInvariants::CheckEverythingEnded() {
  for (const auto& [name, run] : appended_.runs()) {
    sim_.Expect(run.has_ended, absl::StrCat("run ", name.second, " of job ", name.first, " never ended"));
  }
  sim_.Expect(!processes_.IsAnyAlive(), absl::StrCat("processes live on: ", processes_.Text()));
}

void WorldInvariants::CheckFirstRunsSucceeded() {
  for (const JobSpec& job : sim_.parameters.jobs) {
    const RunLedger* first = appended_.Find(job.id, 1);
    sim_.Expect(!job.is_complete || (first != nullptr && first->outcome.succeeded()),
                absl::StrCat("nothing went wrong, but job ", job.id, " did not succeed",
                             first == nullptr ? "" : absl::StrCat(": ", first->outcome.cause().text())));
  }
}

}  // namespace muster::sim
