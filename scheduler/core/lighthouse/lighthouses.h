// torchft's lighthouses: one for each name for which agents report replicas, whichever jobs these belong to. The
// journal has the last quorum; the rest is in the agents' reports, which come again after a restart.
//
//   a replica is forgotten     its agent's report has it no more; it was silent for the rules' heartbeat time-out; its
//                              agent's node takes part in no round any more
//   a replica is in doubt      it has not been heard since shortly after another one that fell silent, and may have
//                              died with it: it is alive, but asks for nothing, until it is heard, or silent, too
//   a call waits               from the first report that has it until a quorum has its replica, or a report has it no
//                              more. Asked for again after that, it gets the same answer
//   the quorum's number rises  its members are others than before, or one of them could not commit its last step
//   a member that no agent     counts as alive after a restart, for as long as its agent may need to come back: those
//   has reported yet           that reconnect first must not train without the others
//
// Bounded: kMaxLighthouses names (none is forgotten: its number must not fall), kMaxReplicas of each.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "scheduler/core/context/context.h"

namespace muster::scheduler {

class Lighthouses {
 public:
  static constexpr size_t kMaxLighthouses = 256;
  static constexpr size_t kMaxReplicas = 4'096;
  static constexpr size_t kMaxMemberBytes = 2u << 20;  // of all that wait, so that each answer fits a gRPC message
  // Pause after a quorum: a replica that was left out asks for the next one, and others have to come for that. Also the
  // interval at which agents that have gone are looked for.
  static constexpr absl::Duration kPause = absl::Milliseconds(100);
  // The longest time expected between two heartbeats of a replica: torchft's interval (100 ms), and the network's
  // delay.
  static constexpr absl::Duration kBetweenHeartbeats = absl::Milliseconds(200);
  static constexpr size_t kMaxShown = 256;  // members that people are shown

  explicit Lighthouses(Context& context) : context_(context) {}

  void On(QueryId query, const v1::ReplicasReport& report, const std::string& identity);

  // Adds the lighthouses that have replicas of the job; empty: all.
  void Describe(const std::string& job_id, v1::StatusReply& reply) const;

  // True if the handle is that of a lighthouse's deadline.
  bool IsOne(uint64_t handle) const { return by_handle_.contains(handle); }
  void OnDue(uint64_t handle);
  // No replica could be heard meanwhile: moves their deadlines.
  void OnLoopWasLate(absl::Duration by);

 private:
  using SharedQuorum = std::shared_ptr<const v1::ReplicasQuorum>;  // without calls
  using AgentKey = std::pair<std::string, std::string>;            // job and node

  struct Replica {
    AgentKey agent_key;
    MonotonicTime heard;
    uint64_t call = 0;  // the one that waits, or was answered last; 0: none
    SharedQuorum answer;
    MonotonicTime since;  // when the call began to wait
    std::string member;
    bool shrink_only = false;
    bool has_commit_failures = false;

    bool Asks() const { return call != 0 && answer == nullptr; }
  };
  // An agent's open report, which waits for an answer.
  struct Held {
    QueryId query = 0;
    MonotonicTime deadline;
  };
  struct Agent {
    uint64_t incarnation = 0;
    v1::StoreCaller caller;
    uint64_t number = 0;        // of its latest report
    bool has_replicas = false;  // it has replicas, even if silent or another agent's by now
    Held held;
  };
  struct Lighthouse {
    uint64_t handle = 0;
    v1::LighthouseRules rules;
    std::map<std::string, Replica> replicas;
    std::map<AgentKey, Agent> agents;
    MonotonicTime rest_until;  // see kPause
    MonotonicTime doubt;       // a replica that has not been heard since then is in doubt
    MonotonicTime look_again;  // for agents that have gone
    MonotonicTime decide_again = MonotonicTime::Never();
    std::string why_not;             // why those that ask have no quorum yet
    MonotonicTime formed;            // the last quorum; 0: not yet
    std::set<std::string> presumed;  // members of the last quorum, not reported since the restart …
    MonotonicTime presumed_until;    // … which count as alive until then
  };

  size_t CountNames() const;
  absl::Status Check(const Lighthouse* lighthouse, const v1::ReplicasReport& report) const;
  void Open(const std::string& name, Lighthouse& lighthouse);
  void Take(Lighthouse& lighthouse, const AgentKey& agent_key, const v1::ReplicasReport& report);
  void Go(const std::string& name, Lighthouse& lighthouse, const AgentKey* reporter);
  MonotonicTime NextOf(const Lighthouse& lighthouse) const;
  void ForgetTheGone(Lighthouse& lighthouse);
  void ForgetTheSilent(Lighthouse& lighthouse);
  static void Doubt(Lighthouse& lighthouse, MonotonicTime silent_since);
  bool FormQuorum(const std::string& name, Lighthouse& lighthouse);
  static std::vector<const Replica*> ReplicasOf(const Lighthouse& lighthouse, const AgentKey& agent_key);
  void AnswerAll(Lighthouse& lighthouse);
  void AnswerHeld(Agent& agent, const std::vector<const Replica*>& replicas, bool is_over);

  Context& context_;
  std::map<std::string, Lighthouse> lighthouses_;
  std::map<uint64_t, std::string> by_handle_;
  // Names that had a quorum before the restart and have not been reported since. nullopt: no report has come yet.
  std::optional<std::set<std::string>> unreported_;
};

}  // namespace muster::scheduler
