// torchft's lighthouses: one for each name that agents report replicas for, whichever jobs these are of. What the last
// quorum was stands in the journal, the rest in the agents' reports, which come again after a restart.
//
//   a replica is forgotten     its agent's report has it no more; it was silent for the rules' heartbeat time-out; its
//                              agent's node takes part in no round any more
//   a replica is in doubt      it has not been heard since shortly after another one that fell silent, and may have
//   died
//                              with it: it is alive, but asks for nothing, until it is heard, or silent, too
//   a call waits               from the first report that has it until a quorum has its replica, or a report has it no
//                              more. Asked for again after that, it gets the same answer
//   the quorum's number rises  its members are others than before, or one of them could not commit its last step
//   a member that nobody has   counts as alive after a restart, for as long as its agent may need to come back: who
//   spoken of yet              reconnects first must not train without the others
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
  static constexpr size_t kMaxMemberBytes = 2u << 20;  // of all that wait, so that each answer is a gRPC message
  // Who was left out of a quorum asks for the next one; others have to come for that. And how often it is looked whose
  // agents have gone.
  static constexpr absl::Duration kPause = absl::Milliseconds(100);
  // Between heartbeats of a replica (torchft's managers: 100 ms), with what they take on their way.
  static constexpr absl::Duration kBetweenHeartbeats = absl::Milliseconds(200);
  static constexpr size_t kMaxShown = 256;  // members, to people

  explicit Lighthouses(Context& context) : context_(context) {}

  void On(QueryId query, const v1::ReplicasReport& report, const std::string& identity);

  // Those that have replicas of the job; empty: all.
  void Describe(const std::string& job_id, v1::StatusReply& reply) const;

  // Of a lighthouse; the handle of its deadline.
  bool IsOne(uint64_t handle) const { return by_handle_.contains(handle); }
  void OnDue(uint64_t handle);
  // Nobody could be heard meanwhile.
  void OnLoopWasLate(absl::Duration by);

 private:
  using SharedQuorum = std::shared_ptr<const v1::ReplicasQuorum>;  // without calls
  using Party = std::pair<std::string, std::string>;               // job and node

  struct Replica {
    Party party;
    MonotonicTime heard;
    uint64_t call = 0;  // that waits, or was answered last; 0: none
    SharedQuorum answer;
    MonotonicTime since;  // the call waits
    std::string member;
    bool shrink_only = false;
    bool has_commit_failures = false;

    bool Asks() const { return call != 0 && answer == nullptr; }
  };
  // What an agent's open report waits for.
  struct Held {
    QueryId query = 0;
    MonotonicTime deadline;
  };
  struct Agent {
    uint64_t incarnation = 0;
    v1::StoreCaller caller;
    uint64_t number = 0;         // of its latest report
    bool tells_of_some = false;  // that has replicas, be they silent or another agent's by now
    Held held;
  };
  struct Lighthouse {
    uint64_t handle = 0;
    v1::LighthouseRules rules;
    std::map<std::string, Replica> replicas;
    std::map<Party, Agent> agents;
    MonotonicTime rest_until;  // see kPause
    MonotonicTime doubt;       // who has not been heard since then is in doubt
    MonotonicTime look_again;  // for agents that have gone
    MonotonicTime decide_again = MonotonicTime::Never();
    std::string why_not;             // those who ask have no quorum yet
    MonotonicTime formed;            // the last quorum; 0: not yet
    std::set<std::string> presumed;  // members of the last quorum that nobody has spoken of since the restart …
    MonotonicTime presumed_until;    // … which count as alive until then
  };

  size_t CountNames() const;
  absl::Status Check(const Lighthouse* lighthouse, const v1::ReplicasReport& report) const;
  void Open(const std::string& name, Lighthouse& lighthouse);
  void Take(Lighthouse& lighthouse, const Party& party, const v1::ReplicasReport& report);
  void Go(const std::string& name, Lighthouse& lighthouse, const Party* reporter);
  MonotonicTime NextOf(const Lighthouse& lighthouse) const;
  void ForgetTheGone(Lighthouse& lighthouse);
  void ForgetTheSilent(Lighthouse& lighthouse);
  static void Doubt(Lighthouse& lighthouse, MonotonicTime silent_since);
  bool FormQuorum(const std::string& name, Lighthouse& lighthouse);
  static std::vector<const Replica*> ReplicasOf(const Lighthouse& lighthouse, const Party& party);
  void AnswerAll(Lighthouse& lighthouse);
  void AnswerHeld(Agent& agent, const std::vector<const Replica*>& replicas, bool is_over);

  Context& context_;
  std::map<std::string, Lighthouse> lighthouses_;
  std::map<uint64_t, std::string> by_handle_;
  // Those that had a quorum before the restart, and of which nobody has spoken since. Nothing: nobody has spoken yet.
  std::optional<std::set<std::string>> unheard_;
};

}  // namespace muster::scheduler
