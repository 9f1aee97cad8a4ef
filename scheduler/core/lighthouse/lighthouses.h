// torchft's lighthouses: one for each name under which agents report replicas; the replicas may belong to several jobs.
// The journal has only the last quorum. Everything else comes from the agents' reports, which come again after a
// restart of the scheduler.
//
//   a replica is forgotten     when its agent's report no longer has it; when it was silent for the rules' heartbeat
//                              time-out; or when its agent's node no longer takes part in a round
//   a replica is in doubt      when another replica fell silent and this one has not been heard since about that time:
//                              it may have died with the other one. It counts as alive, but its call does not count
//                              until it is heard again; if it stays silent, it is forgotten
//   a call waits               from the first report that has it, until a quorum has its replica or a report no longer
//                              has the call. If the agent reports an answered call again, it gets the same answer
//   the quorum's number rises  when its members have changed, or when one of them could not commit its last step
//   a member that no agent     counts as alive after a restart of the scheduler, until its agent has had time to come
//   has reported yet           back: the replicas that reconnect first must not train without the others
//
// Limits: kMaxLighthouses names, and kMaxReplicas replicas of each. No name is ever forgotten, because its quorum's
// number must not fall.
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
  static constexpr size_t kMaxMemberBytes = 2u << 20;  // of all members, so that each answer fits a gRPC message
  // The pause after a quorum that left a replica out: it gives other replicas time to ask for the next quorum, too.
  // This is also the interval between two searches for agents that have gone.
  static constexpr absl::Duration kPause = absl::Milliseconds(100);
  // The longest time expected between two heartbeats of a replica: torchft's interval (100 ms) plus the delay of the
  // network.
  static constexpr absl::Duration kBetweenHeartbeats = absl::Milliseconds(200);
  static constexpr size_t kMaxShown = 256;  // the most members that ms-ctl shows

  explicit Lighthouses(Context& context) : context_(context) {}

  void On(QueryId query, const v1::ReplicasReport& report, const std::string& identity);

  // Adds to `reply` the lighthouses that have replicas of the job. An empty job_id means all lighthouses.
  void Describe(const std::string& job_id, v1::StatusReply& reply) const;

  // True if the handle is that of a lighthouse's deadline.
  bool IsOne(uint64_t handle) const { return by_handle_.contains(handle); }
  void OnDue(uint64_t handle);
  // Moves the replicas' deadlines later by this time, because no replica could be heard while the loop was late.
  void OnLoopWasLate(absl::Duration by);

 private:
  using SharedQuorum = std::shared_ptr<const v1::ReplicasQuorum>;  // without the calls it answers
  using AgentKey = std::pair<std::string, std::string>;            // job and node

  struct Replica {
    AgentKey agent_key;
    MonotonicTime heard;
    uint64_t call = 0;    // the call that waits, or that was answered last; 0: none
    SharedQuorum answer;  // the answer to `call`; null: the call waits
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
    uint64_t number = 0;        // the number of its latest report
    bool has_replicas = false;  // its report named replicas, even if these are silent or belong to another agent by now
    Held held;
  };
  struct Lighthouse {
    uint64_t handle = 0;
    v1::LighthouseRules rules;
    std::map<std::string, Replica> replicas;
    std::map<AgentKey, Agent> agents;
    MonotonicTime rest_until;  // see kPause
    MonotonicTime doubt;       // a replica that has not been heard since then is in doubt
    MonotonicTime look_again;  // the next time to search for agents that have gone
    MonotonicTime decide_again = MonotonicTime::Never();
    std::string why_not;             // why the replicas that ask have no quorum yet
    MonotonicTime formed;            // when the last quorum formed; 0: none since the restart
    std::set<std::string> presumed;  // members of the last quorum that no agent has reported since the restart;
    MonotonicTime presumed_until;    // they count as alive until this time
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
  // The names that had a quorum before the restart and that no agent has reported since. nullopt: no report of any name
  // has come yet.
  std::optional<std::set<std::string>> unreported_;
};

}  // namespace muster::scheduler
