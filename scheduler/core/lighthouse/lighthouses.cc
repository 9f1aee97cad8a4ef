#include "scheduler/core/lighthouse/lighthouses.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "scheduler/core/lighthouse/quorum.h"
#include "scheduler/core/store/caller.h"

namespace muster::scheduler {
namespace {

std::string RulesText(const v1::LighthouseRules& rules) {
  return absl::StrCat("at least ", rules.min_replicas(), " replicas, join time-out ", rules.join_timeout_ms(),
                      " ms, heartbeat time-out ", rules.heartbeat_timeout_ms(), " ms");
}

bool AreEqual(const v1::LighthouseRules& a, const v1::LighthouseRules& b) {
  return a.min_replicas() == b.min_replicas() && a.join_timeout_ms() == b.join_timeout_ms() &&
         a.heartbeat_timeout_ms() == b.heartbeat_timeout_ms();
}

QuorumRules RulesOf(const v1::LighthouseRules& rules) {
  return {rules.min_replicas(), absl::Milliseconds(rules.join_timeout_ms())};
}

absl::Duration HeartbeatTimeout(const v1::LighthouseRules& rules) {
  return absl::Milliseconds(rules.heartbeat_timeout_ms());
}

}  // namespace

// Returns the number of names that have had a quorum or wait for their first one.
size_t Lighthouses::CountNames() const {
  const auto& quorums = context_.state.record().quorums;
  return quorums.size() +
         static_cast<size_t>(std::count_if(lighthouses_.begin(), lighthouses_.end(),
                                           [&](const auto& one) { return !quorums.contains(one.first); }));
}

absl::Status Lighthouses::Check(const Lighthouse* lighthouse, const v1::ReplicasReport& report) const {
  size_t replicas = 0, bytes = 0;
  bool is_alone = true;
  const AgentKey agent_key(report.caller().job_id(), report.caller().node_id());
  if (lighthouse != nullptr) {
    for (const auto& [id, replica] : lighthouse->replicas) {
      if (replica.agent_key == agent_key) continue;
      is_alone = false;
      ++replicas;
      bytes += replica.member.size();
    }
  } else if (CountNames() >= kMaxLighthouses && !context_.state.record().quorums.contains(report.lighthouse())) {
    return absl::ResourceExhaustedError(absl::StrCat("this scheduler has ", kMaxLighthouses,
                                                     " lighthouses already: name one of them with --lighthouse"));
  }
  if (!is_alone && !AreEqual(lighthouse->rules, report.rules())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "lighthouse ", report.lighthouse(), " has other rules than this node asks for: ", RulesText(lighthouse->rules),
        "; here: ", RulesText(report.rules()), ". They must be the same on all nodes of its jobs"));
  }
  for (const v1::ReplicaReport& one : report.replicas()) bytes += one.member().size();
  if (replicas + static_cast<size_t>(report.replicas_size()) > kMaxReplicas || bytes > kMaxMemberBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("lighthouse ", report.lighthouse(), " has ", replicas, " replicas already: at most ", kMaxReplicas,
                     " are allowed, and their descriptions may have ", kMaxMemberBytes, " bytes together"));
  }
  return absl::OkStatus();
}

void Lighthouses::On(QueryId query, const v1::ReplicasReport& report, const std::string& identity) {
  const v1::StoreCaller& caller = report.caller();
  const auto known = lighthouses_.find(report.lighthouse());
  absl::Status status = CheckCaller(context_.state.FindRun(caller.job_id(), caller.run()), caller, identity);
  if (status.ok()) status = Check(known == lighthouses_.end() ? nullptr : &known->second, report);
  if (!status.ok()) {
    context_.effects.push_back(Answer{query, std::move(status), v1::StoreReply()});
    return;
  }
  Lighthouse& lighthouse = lighthouses_[report.lighthouse()];
  lighthouse.rules = report.rules();
  if (lighthouse.handle == 0) Open(report.lighthouse(), lighthouse);
  const AgentKey agent_key(caller.job_id(), caller.node_id());
  Agent& agent = lighthouse.agents[agent_key];
  if (agent.incarnation == caller.incarnation() && report.number() < agent.number) {
    context_.effects.push_back(Answer{query, absl::OkStatus(), v1::StoreReply()});  // a later report has come before it
    return;
  }
  if (agent.held.query != 0) AnswerHeld(agent, ReplicasOf(lighthouse, agent_key), /*is_over=*/true);
  // A new start of the agent numbers its calls from 1 again. So drop its old calls: a new call could have the same
  // number as an old one.
  if (agent.incarnation != caller.incarnation()) {
    std::erase_if(lighthouse.replicas, [&](const auto& one) { return one.second.agent_key == agent_key; });
  }
  Take(lighthouse, agent_key, report);
  agent = {.incarnation = caller.incarnation(),
           .caller = caller,
           .number = report.number(),
           .has_replicas = report.replicas_size() > 0,
           .held = {query, context_.now.monotonic + absl::Milliseconds(std::min(report.wait_ms(), kMaxStoreWaitMs))}};
  Go(report.lighthouse(), lighthouse, &agent_key);
}

void Lighthouses::Open(const std::string& name, Lighthouse& lighthouse) {
  lighthouse.handle = ++context_.last_handle;
  by_handle_[lighthouse.handle] = name;
  const auto& quorums = context_.state.record().quorums;
  if (!unreported_) {
    unreported_.emplace();
    for (const auto& [of, quorum] : quorums) unreported_->insert(of);
  }
  if (unreported_->erase(name) == 0) return;
  const auto last = quorums.find(name);
  lighthouse.presumed = {last->second.replica_ids.begin(), last->second.replica_ids.end()};
  lighthouse.presumed_until =
      context_.started.monotonic + context_.options.disconnect_grace + HeartbeatTimeout(lighthouse.rules);
}

void Lighthouses::Take(Lighthouse& lighthouse, const AgentKey& agent_key, const v1::ReplicasReport& report) {
  std::set<std::string> here;
  for (const v1::ReplicaReport& one : report.replicas()) {
    here.insert(one.replica_id());
    lighthouse.presumed.erase(one.replica_id());
    const absl::Duration silent = absl::Milliseconds(one.silent_ms());
    const MonotonicTime heard = context_.now.monotonic - silent;
    if (silent >= HeartbeatTimeout(lighthouse.rules) && !lighthouse.replicas.contains(one.replica_id())) {
      Doubt(lighthouse, heard);  // still reported, as its call is open or it was heard less than two time-outs ago
      continue;
    }
    const auto [found, is_new] = lighthouse.replicas.try_emplace(one.replica_id());
    Replica& replica = found->second;
    if (!is_new && replica.agent_key != agent_key) {
      if (replica.heard >= heard) continue;  // the replica has moved to another agent, which heard it later
      replica = {};
    }
    replica.agent_key = agent_key;
    replica.heard = heard;
    if (one.call() == replica.call) continue;
    replica.call = one.call();
    replica.answer = nullptr;
    replica.since = context_.now.monotonic;
    replica.member = one.member();
    replica.shrink_only = one.shrink_only();
    replica.has_commit_failures = one.has_commit_failures();
  }
  std::erase_if(lighthouse.replicas,
                [&](const auto& one) { return one.second.agent_key == agent_key && !here.contains(one.first); });
}

// Forgets replicas, forms a quorum if it can, and answers calls. `reporter` is the agent that has just reported; null
// means that only time has passed.
void Lighthouses::Go(const std::string& name, Lighthouse& lighthouse, const AgentKey* reporter) {
  const MonotonicTime now = context_.now.monotonic;
  if (reporter == nullptr || now >= lighthouse.look_again) {  // not at every report, because there may be many
    ForgetTheGone(lighthouse);
    lighthouse.look_again = now + kPause;
  }
  ForgetTheSilent(lighthouse);
  const bool has_formed = FormQuorum(name, lighthouse);
  if (has_formed || reporter == nullptr) {
    AnswerAll(lighthouse);
  } else if (const auto agent = lighthouse.agents.find(*reporter); agent != lighthouse.agents.end()) {
    const std::vector<const Replica*> replicas = ReplicasOf(lighthouse, *reporter);
    AnswerHeld(agent->second, replicas, now >= agent->second.held.deadline);
    if (agent->second.held.query == 0 && replicas.empty()) lighthouse.agents.erase(agent);
  }
  if (lighthouse.agents.empty() && lighthouse.presumed.empty()) {  // the durable state keeps the quorum's number
    context_.deadlines.Set(lighthouse.handle, MonotonicTime::Never());
    by_handle_.erase(lighthouse.handle);
    lighthouses_.erase(std::string(name));
    return;
  }
  context_.deadlines.Set(lighthouse.handle, NextOf(lighthouse));
}

MonotonicTime Lighthouses::NextOf(const Lighthouse& lighthouse) const {
  MonotonicTime next = lighthouse.decide_again;
  if (!lighthouse.presumed.empty()) next = std::min(next, lighthouse.presumed_until);
  for (const auto& [id, replica] : lighthouse.replicas) {
    next = std::min(next, replica.heard + HeartbeatTimeout(lighthouse.rules));
  }
  for (const auto& [agent_key, agent] : lighthouse.agents) {
    if (agent.held.query != 0) next = std::min(next, agent.held.deadline);
  }
  return next;
}

// Forgets agents, and their replicas, if their round is over or their node is lost.
void Lighthouses::ForgetTheGone(Lighthouse& lighthouse) {
  std::erase_if(lighthouse.agents, [&](const auto& agent) {
    const auto& [agent_key, known] = agent;
    absl::Status status =
        CheckCaller(context_.state.FindRun(known.caller.job_id(), known.caller.run()), known.caller, "");
    if (status.ok()) return false;
    std::erase_if(lighthouse.replicas, [&gone = agent_key](const auto& one) { return one.second.agent_key == gone; });
    if (known.held.query != 0) {
      context_.effects.push_back(Answer{known.held.query, std::move(status), v1::StoreReply()});
    }
    return true;
  });
}

void Lighthouses::ForgetTheSilent(Lighthouse& lighthouse) {
  std::erase_if(lighthouse.replicas, [&](const auto& one) {
    const bool is_silent = context_.now.monotonic - one.second.heard >= HeartbeatTimeout(lighthouse.rules);
    if (is_silent) Doubt(lighthouse, one.second.heard);
    return is_silent;
  });
  if (context_.now.monotonic >= lighthouse.presumed_until) lighthouse.presumed.clear();
}

// Notes that a replica has been silent since `silent_since`, so that replicas not heard since about then are in doubt.
//
// Replicas that died together were last heard at different times: a heartbeat and a quarter of the time-out apart, in
// which an agent reports its replicas at least once (unless a report is lost). So this time is added. It is at most
// half of the time-out, because a healthy replica was heard within the last half and must not be in doubt.
void Lighthouses::Doubt(Lighthouse& lighthouse, MonotonicTime silent_since) {
  const absl::Duration limit = HeartbeatTimeout(lighthouse.rules);
  lighthouse.doubt = std::max(lighthouse.doubt, silent_since + std::min(limit / 4 + kBetweenHeartbeats, limit / 2));
}

// Forms a quorum if the rules allow one now, and stores it as the answer to its members' calls. Returns true if it did.
bool Lighthouses::FormQuorum(const std::string& name, Lighthouse& lighthouse) {
  const auto known = context_.state.record().quorums.find(name);
  const QuorumRecord* last = known == context_.state.record().quorums.end() ? nullptr : &known->second;
  if (context_.now.monotonic < lighthouse.rest_until) return false;
  std::vector<Asker> askers;
  size_t in_doubt = 0;
  for (const auto& [id, replica] : lighthouse.replicas) {
    if (!replica.Asks()) continue;
    if (replica.heard > lighthouse.doubt) {
      askers.push_back({&id, replica.since, replica.shrink_only});
    } else {
      ++in_doubt;
    }
  }
  const QuorumDecision decision =
      DecideQuorum(askers, lighthouse.replicas.size() + lighthouse.presumed.size(),
                   last == nullptr ? nullptr : &last->replica_ids, RulesOf(lighthouse.rules), context_.now.monotonic);
  lighthouse.why_not = askers.empty() ? "" : decision.why_not;
  if (in_doubt > 0 && decision.members.empty()) {
    lighthouse.why_not = absl::StrCat(
        in_doubt, " of the replicas that ask may have died with a silent one: they are left out until they report");
  }
  lighthouse.decide_again = decision.look_again;
  if (decision.members.empty()) return false;
  lighthouse.formed = context_.now.monotonic;
  auto quorum = std::make_shared<v1::ReplicasQuorum>();
  bool has_failures = false;
  for (const std::string& id : decision.members) {
    const Replica& replica = lighthouse.replicas.at(id);
    has_failures |= replica.has_commit_failures;
    quorum->add_members(replica.member);
  }
  int64_t number = last == nullptr ? 0 : last->quorum_id;
  // torchft's managers configure their process groups again only when the number changes.
  if (last == nullptr || last->replica_ids != decision.members || has_failures) {
    ++number;
    v1::Record record = context_.NewRecord();
    v1::QuorumChanged& changed = *record.mutable_quorum_changed();
    changed.set_lighthouse(name);
    changed.set_quorum_id(number);
    changed.mutable_replica_ids()->Assign(decision.members.begin(), decision.members.end());
    context_.Write(std::move(record));
  }
  quorum->set_quorum_id(number);
  quorum->set_created_unix_ms(context_.now.wall.unix_ms);
  for (const std::string& id : decision.members) lighthouse.replicas.at(id).answer = quorum;
  if (in_doubt == 0 && askers.size() == decision.members.size()) return true;
  for (auto& [id, replica] : lighthouse.replicas) {  // a call that was left out waits for the next quorum
    if (replica.Asks()) replica.since = context_.now.monotonic;
  }
  lighthouse.decide_again = lighthouse.rest_until = context_.now.monotonic + kPause;
  return true;
}

std::vector<const Lighthouses::Replica*> Lighthouses::ReplicasOf(const Lighthouse& lighthouse,
                                                                 const AgentKey& agent_key) {
  std::vector<const Replica*> replicas;
  for (const auto& [id, replica] : lighthouse.replicas) {
    if (replica.agent_key == agent_key) replicas.push_back(&replica);
  }
  return replicas;
}

void Lighthouses::AnswerAll(Lighthouse& lighthouse) {
  std::map<AgentKey, std::vector<const Replica*>> replicas;
  for (const auto& [id, replica] : lighthouse.replicas) replicas[replica.agent_key].push_back(&replica);
  for (auto& [agent_key, agent] : lighthouse.agents) {
    if (agent.held.query != 0) AnswerHeld(agent, replicas[agent_key], context_.now.monotonic >= agent.held.deadline);
  }
  std::erase_if(lighthouse.agents,
                [&](const auto& one) { return one.second.held.query == 0 && replicas[one.first].empty(); });
}

// Answers the agent's open report with the quorums that answer its replicas' calls. If there are none, it answers only
// if `is_over`, or if the report named no replica; otherwise the agent would soon send the same report again.
void Lighthouses::AnswerHeld(Agent& agent, const std::vector<const Replica*>& replicas, bool is_over) {
  std::vector<std::pair<SharedQuorum, std::vector<uint64_t>>> answered;  // each quorum, with the calls that it answers
  for (const Replica* replica : replicas) {
    if (replica->call == 0 || replica->answer == nullptr) continue;
    auto quorum =
        std::find_if(answered.begin(), answered.end(), [&](const auto& one) { return one.first == replica->answer; });
    if (quorum == answered.end()) quorum = answered.insert(answered.end(), {replica->answer, {}});
    quorum->second.push_back(replica->call);
  }
  if (answered.empty() && !is_over && agent.has_replicas) return;
  v1::StoreReply reply;
  for (const auto& [quorum, calls] : answered) {
    v1::ReplicasQuorum& added = *reply.add_quorums();
    added = *quorum;
    added.mutable_calls()->Assign(calls.begin(), calls.end());
  }
  context_.effects.push_back(Answer{agent.held.query, absl::OkStatus(), std::move(reply)});
  agent.held = {};
}

void Lighthouses::Describe(const std::string& job_id, v1::StatusReply& reply) const {
  for (const auto& [name, lighthouse] : lighthouses_) {
    const bool is_of_job = std::any_of(lighthouse.agents.begin(), lighthouse.agents.end(),
                                       [&](const auto& one) { return one.first.first == job_id; });
    if (!job_id.empty() && !is_of_job) continue;
    v1::LighthouseStatus& status = *reply.add_lighthouses();
    status.set_name(name);
    status.set_alive(static_cast<uint32_t>(lighthouse.replicas.size()));
    status.set_asking(static_cast<uint32_t>(std::count_if(lighthouse.replicas.begin(), lighthouse.replicas.end(),
                                                          [](const auto& one) { return one.second.Asks(); })));
    status.set_waiting(lighthouse.why_not);
    status.set_formed_ms(lighthouse.formed == MonotonicTime()
                             ? -1
                             : absl::ToInt64Milliseconds(context_.now.monotonic - lighthouse.formed));
    const auto last = context_.state.record().quorums.find(name);
    if (last == context_.state.record().quorums.end()) continue;
    status.set_quorum_id(last->second.quorum_id);
    status.set_members_count(static_cast<uint32_t>(last->second.replica_ids.size()));
    for (const std::string& id : last->second.replica_ids) {
      if (static_cast<size_t>(status.members_size()) < kMaxShown) status.add_members(id);
    }
  }
}

void Lighthouses::OnDue(uint64_t handle) {
  // Copy the name, because Go may erase the entry.
  const std::string name = by_handle_.at(handle);
  Go(name, lighthouses_.at(name), nullptr);
}

void Lighthouses::OnLoopWasLate(absl::Duration by) {
  const MonotonicTime now = context_.now.monotonic;  // no replica may count as heard in the future
  for (auto& [name, lighthouse] : lighthouses_) {
    for (auto& [id, replica] : lighthouse.replicas) replica.heard = std::min(replica.heard + by, now);
    lighthouse.presumed_until = lighthouse.presumed_until + by;
    lighthouse.doubt = std::min(lighthouse.doubt + by, now);
  }
}

}  // namespace muster::scheduler
