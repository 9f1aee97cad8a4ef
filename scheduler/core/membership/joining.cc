// Admits agents: newcomers, and agents that come back to the run that welcomed them. See taking_over.cc for two agents
// that claim one id.
//
//   the agent                                                     what happens
//   knows another cluster, or a higher term                       refused: this is not its scheduler
//   comes back to a run that is forgotten                         refused: that run is over
//   comes back, and its node still has its incarnation            Resume: same place, same ranks
//   comes back, but a later start has its node, or the node was   refused: it must end
//     given up or drained
//   newcomer; its incarnation is known (the welcome was lost)     Resume
//   newcomer; the run can only end                                Admit into the next run
//   newcomer of another user than the run's                       refused, unless the job is shared
//   newcomer; its id is free                                      Admit: as a member or a spare, or refused
//   newcomer; its id's owner is disconnected                      TakeOver
//   newcomer; its id's owner is connected                         Challenge: the owner keeps it if it answers in 2 s
//   newcomer without an id; it fits a lost node's place           TakeOver of that place (FindReplaced)
//   newcomer; the lock shows that its id's owner started later    refused: stale, it must end
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/hosts/compare.h"
#include "scheduler/core/membership/membership.h"
#include "scheduler/core/places/admission.h"
#include "scheduler/core/places/agreed_settings.h"
#include "scheduler/core/places/older_journal.h"

namespace muster::scheduler {
namespace {

constexpr char kStartAgain[] = "; start ms-worker again to take part in the job's next run";

// Refuses a join that its agent sent before it was removed from a run: such a late join must not add the agent again.
// An agent that was removed because it was silent may join again over a new connection, with a higher connect_seq.
std::optional<v1::Refusal> RefuseStaleIncarnation(const Job& job, const v1::Join& join) {
  for (const auto& [number, run] : job.runs) {
    const auto it = run.record().removed.find(join.incarnation());
    if (it == run.record().removed.end()) continue;
    if (it->second.is_dead) {
      return MakeRefusal(
          v1::Refusal::STALE_INCARNATION,
          absl::StrCat("this start of the node no longer belongs to run ", number, " of job ", run.record().job_id,
                       ": it has ended, or a newer one has taken its place", kStartAgain));
    }
    if (join.connect_seq() <= run.RuntimeOfRemoved(join.incarnation()).connect_seq) {
      return MakeRefusal(v1::Refusal::STALE_CONNECT, "a newer connection of this agent is known already");
    }
  }
  return std::nullopt;
}

// True if the node was removed from this run, and the run recovers and goes on. The node then comes back as a spare.
bool ReturnsAsSpare(const Run& run, const v1::Join& join) {
  if (!run.Recovers() || !run.IsUnderWay()) return false;
  return run.record().gone.contains(join.node_id());
}

// Within a run an id belongs to the identity with which it first joined. An id that joined without an identity (over
// plain text) belongs to no one.
bool IsSomebodyElses(const std::string& owner, const std::string& identity) {
  return !owner.empty() && owner != identity;
}

v1::Refusal RefuseIdentity(const std::string& node_id, const std::string& owner, const std::string& identity) {
  return MakeRefusal(v1::Refusal::NOT_AUTHORIZED,
                     absl::StrCat("node id ", node_id, " belongs to ", owner, " in this run, and this node is ",
                                  identity.empty() ? "without a name" : identity,
                                  ": give this node another MS_NODE_ID, or the certificate of that id's owner"));
}

// Refuses a join for an id that belongs to another identity. With --tls_identity=ca-only joins have no name. If the
// scheduler was restarted with this setting, a running job must not fail because of it. So for a join without a name
// the incarnation is enough proof: only the owner knows these 64 random bits.
std::optional<v1::Refusal> RefuseOtherIdentity(const Run& run, const std::string& node_id, const JoinRequested& event) {
  const auto judge = [&](const std::string& owner, uint64_t incarnation) -> std::optional<v1::Refusal> {
    if (!IsSomebodyElses(owner, event.identity)) return std::nullopt;
    if (event.identity.empty() && event.join.incarnation() == incarnation) return std::nullopt;
    return RefuseIdentity(node_id, owner, event.identity);
  };
  if (const Node* node = run.nodes.Find(node_id)) return judge(node->record().identity, node->record().incarnation);
  const auto gone = run.record().gone.find(node_id);
  return gone != run.record().gone.end() ? judge(gone->second.identity, gone->second.incarnation) : std::nullopt;
}

// Returns a text about a node for which the job waits: the refused newcomer may be this node with another id.
std::string AbsentNodes(const Run& run) {
  for (const auto& [id, node] : run.nodes) {
    if (node.record().is_lost)
      return absl::StrCat(" and waits for ", NodeText(node), " to come back with MS_NODE_ID ", id);
  }
  return "";
}

}  // namespace

void Membership::Refuse(const JoinRequested& event, v1::Refusal refusal) {
  const StreamId stream = event.stream;
  context_.refusals.Note(event, refusal, context_.now.monotonic);
  Message message = context_.NewMessage();
  *message->mutable_refusal() = std::move(refusal);
  context_.SendTo(stream, std::move(message));
  context_.CloseStreamOf(stream);
}

void Membership::On(const JoinRequested& event) {
  const v1::Join& join = event.join;
  if (!join.cluster_id().empty() && join.cluster_id() != context_.state.record().cluster_id) {
    return Refuse(
        event,
        MakeRefusal(v1::Refusal::CLUSTER_CHANGED,
                    "this scheduler does not know the cluster that the agent belongs to: it is another scheduler, or "
                    "it was started again without its journal; start the nodes of the job again, and give "
                    "ms-scheduler a --journal_path so that it remembers"));
  }
  if (!join.cluster_id().empty() && join.term() > context_.state.record().term) {
    return Refuse(event,
                  MakeRefusal(v1::Refusal::STALE_TERM,
                              absl::StrCat("this scheduler is in term ", context_.state.record().term,
                                           ", and the agent has heard of term ", join.term(),
                                           ": the scheduler's journal is an old copy, or another scheduler of "
                                           "this cluster came after it; start ms-scheduler with the newest journal")));
  }
  if (join.run() == 0) return JoinCurrentRun(event);
  if (Run* run = context_.state.FindRun(join.job_id(), join.run())) return JoinKnownRun(event, *run);
  Refuse(event, MakeRefusal(v1::Refusal::RUN_UNKNOWN, absl::StrCat("run ", join.run(), " of job ", join.job_id(),
                                                                   " is over and forgotten", kStartAgain)));
}

// Handles the join of an agent that a run has welcomed before. It gets an answer for this run only.
void Membership::JoinKnownRun(const JoinRequested& event, Run& run) {
  const v1::Join& join = event.join;
  if (auto refusal = RefuseOtherIdentity(run, join.node_id(), event)) {
    return Refuse(event, *std::move(refusal));
  }
  if (Node* node = run.nodes.Find(join.node_id())) {
    if (node->record().incarnation == join.incarnation()) return Resume(event, run, *node);
    return Refuse(event, MakeRefusal(v1::Refusal::STALE_INCARNATION,
                                     absl::StrCat("a newer start of node ", join.node_id(),
                                                  " has taken its place: this one is stale and must end")));
  }
  const auto gone = run.record().gone.find(join.node_id());
  const bool is_known = gone != run.record().gone.end() && gone->second.incarnation == join.incarnation();
  if (is_known && gone->second.why == v1::NodeRemoved::DRAINED) {
    return Refuse(event, RefuseDrained(run, join.node_id(), gone->second.reason));
  }
  if (is_known && gone->second.why == v1::NodeRemoved::LOST) {
    v1::Refusal refusal =
        MakeRefusal(v1::Refusal::NODE_LOST,
                    absl::StrCat("node ", join.node_id(), " was given up: ", gone->second.reason, kStartAgain));
    refusal.set_ranks_are_free(!gone->second.was_replaced);
    return Refuse(event, std::move(refusal));
  }
  Refuse(event, MakeRefusal(v1::Refusal::STALE_INCARNATION,
                            absl::StrCat("node ", join.node_id(), " does not belong to run ", run.record().number,
                                         " of job ", run.record().job_id, " any more", kStartAgain)));
}

void Membership::JoinCurrentRun(const JoinRequested& event) {
  const v1::Join& join = event.join;
  // If the incarnation is known, its welcome was lost. The agent is then no newcomer, even if its run has ended since.
  if (const auto job = context_.state.jobs.find(join.job_id()); job != context_.state.jobs.end()) {
    for (auto& [number, run] : job->second.runs) {
      const auto known = run.record().by_incarnation.find(join.incarnation());
      if (known == run.record().by_incarnation.end()) continue;
      Node& node = *known->second;
      if (auto refusal = RefuseOtherIdentity(run, node.record().id, event)) return Refuse(event, *std::move(refusal));
      return Resume(event, run, node);
    }
    if (auto refusal = RefuseStaleIncarnation(job->second, join)) return Refuse(event, *std::move(refusal));
  }
  if (context_.is_draining) return Refuse(event, TryLater("the scheduler is stopping", absl::Seconds(3)));
  Run* run = RunForNewcomer(event);
  if (run == nullptr) return;
  if (auto refusal = RefuseOtherIdentity(*run, join.node_id(), event)) {
    return Refuse(event, *std::move(refusal));
  }
  if (auto refusal = RefuseOtherUser(*run, join, event.identity)) return Refuse(event, *std::move(refusal));
  if (Node* replaced = FindReplaced(*run, event)) return TakeOver(event, *run, *replaced);
  if (Node* node = run->nodes.Find(join.node_id())) {
    if (IsFormerStart(*node, join)) {
      return Refuse(event, MakeRefusal(v1::Refusal::STALE_INCARNATION,
                                       absl::StrCat("a later start of node ", join.node_id(),
                                                    " has taken its lock: this one is stale and must end")));
    }
    return node->stream != 0 ? Challenge(event, *run, *node) : TakeOver(event, *run, *node);
  }
  Admit(event, *run);
}

// Returns the job's current run, or a new run if the current one can only end. Returns null if it has refused the join.
Run* Membership::RunForNewcomer(const JoinRequested& event) {
  const auto job = context_.state.jobs.find(event.join.job_id());
  Run* run = job == context_.state.jobs.end() ? nullptr : job->second.current();
  if (run != nullptr && !run->IsOver()) return run;
  if (context_.once_job == event.join.job_id()) {
    Refuse(event, TryLater("this scheduler serves one run only (--once), and that has ended", absl::Seconds(3)));
    return nullptr;
  }
  if (context_.once_job) {
    Refuse(event, MakeRefusal(v1::Refusal::SETTINGS_DIFFER,
                              absl::StrCat("MS_JOB_ID is ", event.join.job_id(),
                                           " on this node, but this scheduler serves job ", *context_.once_job,
                                           " only (--once): set the same MS_JOB_ID on every node, or start a "
                                           "scheduler without --once for several jobs")));
    return nullptr;
  }
  if (auto refusal = places_.RefuseJob(event)) {
    Refuse(event, *std::move(refusal));
    return nullptr;
  }
  if (job == context_.state.jobs.end() && context_.state.jobs.size() >= kMaxJobs && !lifecycle_.MakeRoomForAJob()) {
    Refuse(event, TryLater(absl::StrCat("the scheduler already serves ", kMaxJobs,
                                        " jobs, the most it can: stop one (ms-ctl stop), or use another scheduler"),
                           absl::Seconds(3)));
    return nullptr;
  }
  return OpenRun(event);
}

// Opens a new run for this join. If the run could not even begin with this node, refuses the join and returns null.
Run* Membership::OpenRun(const JoinRequested& event) {
  const v1::Join& join = event.join;
  v1::JobSettings settings = FirstSettings(context_.options.own, join.settings());
  const Run candidate(join.job_id(), FirstSettings(context_.options.own, {}));
  if (auto refusal = CheckAdmission(candidate, settings, event)) {
    Refuse(event, *std::move(refusal));
    return nullptr;
  }
  const uint64_t number = context_.state.LastRunOf(join.job_id()) + 1;
  v1::Record record = context_.NewRecord();
  v1::RunOpened& opened = *record.mutable_run_opened();
  opened.set_job_id(join.job_id());
  opened.set_run(number);
  *opened.mutable_settings() = std::move(settings);
  opened.set_opened_by(absl::StrCat(join.node().user(), "@", join.node().host_name()));
  context_.Write(std::move(record));

  Job& job = context_.state.jobs.at(join.job_id());
  Run& run = job.runs.at(number);
  context_.GiveHandle(run);
  run.opened = context_.now.monotonic;
  run.topo_deadline = (context_.options.is_once ? context_.started.monotonic : context_.now.monotonic) +
                      context_.TopoTimeout(run.record().settings);
  if (context_.options.is_once) {
    context_.once_job = join.job_id();
    context_.deadlines.Set(context_.once_handle, context_.once_deadline = MonotonicTime::Never());
  }
  context_.Schedule(run);
  lifecycle_.PruneRuns(job);
  return &run;
}

// Returns a refusal if the node's settings, its size or its id do not fit the run; nullopt if it may take part.
// `settings` are the run's settings together with the node's.
std::optional<v1::Refusal> Membership::CheckAdmission(const Run& run, const v1::JobSettings& settings,
                                                      const JoinRequested& event) const {
  const v1::Join& join = event.join;
  if (auto refusal = CheckSettings(run, context_.options.own, join)) return refusal;
  if (join.node().spare() || ReturnsAsSpare(run, join)) return std::nullopt;
  if (run.record().phase != v1::RUN_PHASE_FORMING) {
    return MakeRefusal(v1::Refusal::EXTRA_NODE,
                       absl::StrCat("job ", run.record().job_id, " is ", RunPhaseName(run.record()), " with all its ",
                                    run.record().settings.worker_num(), " workers", AbsentNodes(run),
                                    ": this node is one too many; start it with --spare to stand by, or with another "
                                    "--job_id for another job"));
  }
  if (auto refusal = CheckRoom(run, settings, join.node())) return refusal;
  return CheckNodeId(run, settings, join.node_id(), join.node());
}

void Membership::Admit(const JoinRequested& event, Run& run, bool replaces) {
  const v1::Join& join = event.join;
  if (auto refusal = CheckIncarnation(run, join)) return Refuse(event, *std::move(refusal));
  v1::JobSettings settings = AgreedSettings(run, join.settings());
  if (auto refusal = CheckAdmission(run, settings, event)) return Refuse(event, *std::move(refusal));
  // (A new start of a node takes no additional place.)
  if (auto refusal = replaces ? std::nullopt : places_.RefuseNode(event)) return Refuse(event, *std::move(refusal));
  const bool is_forming = run.record().phase == v1::RUN_PHASE_FORMING;
  // If all nodes of the run had gone, the topology timeout begins again. With `replaces` it does not: a single node
  // that starts again and again must not make the job wait for ever.
  const bool waits_anew = is_forming && run.nodes.empty() && !replaces && !context_.options.is_once;
  if (!is_forming) settings = run.record().settings;  // a spare's settings do not change a running job
  const std::string id = join.node_id().empty() ? ChooseNodeId(run, join.node().host_name()) : join.node_id();
  const bool is_spare = join.node().spare() || ReturnsAsSpare(run, join);
  v1::Record record = NewNodeJoined(run, id, event);
  v1::NodeJoined& joined = *record.mutable_node_joined();
  joined.set_is_assigned_id(join.node_id().empty() || join.is_assigned_id());
  *joined.mutable_settings() = std::move(settings);
  joined.set_is_spare(is_spare);
  context_.Write(std::move(record));

  Node& node = run.nodes.at(id);
  context_.GiveHandle(run, node);
  if (waits_anew) {
    run.opened = context_.now.monotonic;
    run.topo_deadline = context_.now.monotonic + context_.TopoTimeout(run.record().settings);
    context_.Schedule(run);
  }
  if (!is_spare) run.spare_deadline = MonotonicTime::Never();  // spares wait again for kSpareWait after a regular node
  Attach(event, run, node, false);
  lifecycle_.TryCloseRound(run);
  lifecycle_.TryNextRound(run);
}

v1::Record Membership::NewNodeJoined(const Run& run, const std::string& id, const JoinRequested& event) const {
  v1::Record record = context_.NewRecord();
  v1::NodeJoined& joined = *record.mutable_node_joined();
  SetHead(joined, run);
  joined.set_node_id(id);
  joined.set_incarnation(event.join.incarnation());
  *joined.mutable_info() = event.join.node();
  joined.mutable_info()->set_is_address_given(!joined.info().address().empty());
  if (joined.info().address().empty()) joined.mutable_info()->set_address(event.peer_address);
  // Joins come at different times, so agents' clock times can't be compared. Replace the agent's time by its distance
  // from the scheduler's clock.
  for (v1::HostFact& fact : *joined.mutable_info()->mutable_host_facts()) {
    int64_t sent_ms = 0;  // by the agent's clock
    if (fact.name() != kFactClock || !absl::SimpleAtoi(fact.value(), &sent_ms)) continue;
    const absl::Duration ahead = absl::FromUnixMillis(sent_ms) - absl::FromUnixMillis(context_.now.wall.unix_ms);
    fact.set_value(absl::StrCat(absl::ToInt64Milliseconds(ahead)));
  }
  joined.set_identity(event.identity);
  *joined.mutable_own_settings() = event.join.settings();
  return record;
}

// Handles another join of a known incarnation. One with a higher connect_seq takes the place of the open stream; one
// with an equal or lower connect_seq came late, and is refused.
void Membership::Resume(const JoinRequested& event, Run& run, Node& node) {
  if (event.join.connect_seq() <= node.connect_seq) {
    return Refuse(event, MakeRefusal(v1::Refusal::STALE_CONNECT, "a newer connection of this agent is known already"));
  }
  if (node.stream != 0) {
    const StreamId old_stream = node.stream;
    places_.Detach(run, node);
    context_.CloseStreamOf(old_stream);
  }
  const bool is_returning = node.record().is_lost && !run.HasEnded();
  if (is_returning) {
    v1::Record record = context_.NewRecord();
    v1::NodeReturned& returned = *record.mutable_node_returned();
    SetHead(returned, run, node);
    returned.set_incarnation(node.record().incarnation);
    context_.Write(std::move(record));
    node.stale_end = MonotonicTime::Never();
  }
  if (event.join.node().certificate_fingerprint() != node.record().info.certificate_fingerprint()) {
    v1::Record record = context_.NewRecord();
    v1::NodeRecertified& recertified = *record.mutable_node_recertified();
    SetHead(recertified, run, node);
    recertified.set_incarnation(node.record().incarnation);
    recertified.set_certificate_fingerprint(event.join.node().certificate_fingerprint());
    context_.Write(std::move(record));
  }
  Attach(event, run, node, true);
  if (node.challenger != nullptr) ResolveChallenge(run, node, true);  // its return shows that it is alive
  if (run.record().phase == v1::RUN_PHASE_FORMING) return lifecycle_.TryCloseRound(run);  // this may remove the node
  is_returning ? lifecycle_.TryNextRound(run) : lifecycle_.TryNextRoundAfter(run, node);
}

void Membership::Attach(const JoinRequested& event, Run& run, Node& node, bool is_resumed) {
  if (NoteWhatAgentKnows(event.join, run, node)) {
    context_.Warn(run, "older_journal", DescribeOlderJournal(run));
  }
  context_.streams[event.stream] = {.run = &run, .node = &node};
  node.fence_needs_all_four = context_.options.fence_needs_all_four;
  node.stream = event.stream;
  node.reached_at = event.reached_at;
  ++context_.connected_nodes;
  run.NoteReadiness(node);
  places_.NotePrincipal(run, node, event);
  node.connect_seq = event.join.connect_seq();
  node.last_seen = context_.now.monotonic;
  node.was_seen = true;
  if (!is_resumed) {
    node.stuck.clear();
    node.halted.clear();
    node.check_asked = 0;  // this start has passed its check before it joined
  }
  node.has_reported = false;
  node.had_extra_lease = false;
  node.lease_end = context_.now.monotonic + context_.options.lease;
  node.grace_end = node.missing_since = MonotonicTime::Never();
  run.waiting_cache.is_valid = false;
  context_.Schedule(node);
  lifecycle_.NoteFence(run, node, node.record().armed_fence);  // the welcome may set another fence

  Message message = context_.NewMessage();
  v1::Welcome& welcome = *message->mutable_welcome();
  welcome.set_cluster_id(context_.state.record().cluster_id);
  SetHead(welcome, run, node);
  welcome.set_events_through(node.record().events_through);
  welcome.set_heartbeat_interval_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(context_.HeartbeatInterval())));
  welcome.set_fence_timeout_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(context_.FenceTimeout(run))));
  welcome.set_previous_run(PreviousRunText(run));
  welcome.set_is_resumed(is_resumed);
  welcome.set_is_spare(node.record().is_spare);
  welcome.set_run_opened_unix_ms(run.record().opened_unix_ms);
  context_.SendTo(node.stream, std::move(message));
  lifecycle_.SendDesired(run, node, false);
}

std::string Membership::PreviousRunText(const Run& run) const {
  const Job& job = context_.state.jobs.at(run.record().job_id);
  const auto it = job.runs.find(run.record().number);
  if (it == job.runs.begin()) return "";
  const Run& previous = std::prev(it)->second;
  if (!previous.HasEnded()) {
    return absl::StrCat(
        "run ", previous.record().number, " is still ending",
        previous.record().first_failure ? absl::StrCat(": ", previous.record().first_failure->text()) : "");
  }
  return absl::StrCat(
      "run ", previous.record().number,
      previous.record().outcome.succeeded() ? " succeeded" : " failed: ", previous.record().outcome.cause().text());
}

}  // namespace muster::scheduler
