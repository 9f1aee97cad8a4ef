// The invariants of the whole simulation. Its parts report what they do; the first broken invariant goes to
// Sim::Violate. All checks are in world_invariants.cc, in this order:
//
//   records    the history is sound (ledger.cc); a node is given up only for a good reason, and in time; a run succeeds
//              only when all its processes ended with 0; a cause names a death that happened
//   messages   agents get durable state only, and only of their own run; ranks, digests and outcomes are the same
//              for all; stale connects and incarnations are refused; acknowledged events are durable
//   agents     one live process a place; processes only of durable rounds; an agent stays in its run; exit code 0 only
//              for success
//   the end    once the faults have ended everything ends
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "scheduler/core/state/events.h"
#include "tests/sim/actors/processes.h"
#include "tests/sim/checks/ledger.h"
#include "tests/sim/sim.h"

namespace muster::sim {

class WorldInvariants {
 public:
  WorldInvariants(Sim& sim, Processes& processes) : sim_(sim), processes_(processes) {}

  // ---- the scheduler
  // A scheduler process starts from `durable`, the records of earlier ones; empty: a new cluster.
  void OnSchedulerStart(const std::vector<v1::Record>& durable);
  // Called before the event's effects are carried out.
  void OnApplied(const scheduler::Event& event, const scheduler::Effects& effects);
  void OnStartEffects(const scheduler::Effects& effects);
  void OnDurable(const v1::Record& record);
  // A message leaves the scheduler.
  void OnWire(const scheduler::Send& send);
  // A successful answer of the store leaves the scheduler.
  void OnStoreAnswer(const scheduler::StoreOperation& operation, const v1::StoreReply& reply);
  // True if the present scheduler, or the last one, is of that cluster.
  bool IsPresent(const std::string& cluster_id) const { return appended_.cluster_id() == cluster_id; }
  // Called now and then, while the scheduler runs.
  void CheckLossesAreInTime();

  // ---- agents
  void OnWelcomeTaken(uint64_t incarnation, const RunName& run);
  void OnLaunch(uint64_t incarnation, const PlaceName& place);
  void OnFinish(uint64_t incarnation, const RunName& run, int exit_code, const v1::Outcome& outcome);
  void OnAgentEnded(uint64_t incarnation) { ended_agents_.insert(incarnation); }

  // ---- the end
  void CheckEverythingEnded();
  // Called if no fault was planned: the first run of each complete job must have succeeded.
  void CheckFirstRunsSucceeded();

 private:
  // A node as the present scheduler process sees it.
  struct Presence {
    StreamId stream = 0;  // 0: away
    uint64_t incarnation = 0;
    MonotonicTime heard;
    MonotonicTime away_since;
  };
  using NodeKey = std::tuple<std::string, uint64_t, std::string>;  // job, run, node
  struct Stream {
    v1::Join join;
    uint64_t order = 0;  // its position among all joins
    bool is_welcomed = false;
    uint64_t heartbeat_seq = 0;  // the latest one
    NodeKey node;
  };

  void NoteEvent(const scheduler::Event& event);
  void NoteHeard(StreamId stream, uint64_t heartbeat_seq);
  void CheckEffects(const scheduler::Effects& effects);
  void CheckRecord(const v1::Record& record);
  void CheckNodeCheck(const v1::RoundClosed& closed);
  void CheckRemoval(const v1::NodeRemoved& removed);
  void CheckEnd(const v1::RunEnded& ended);
  void CheckDraining(const v1::NodeDraining& draining);
  void CheckHang(const RunName& name, uint32_t round, const v1::Cause& cause);
  void NoteWelcome(StreamId stream, const v1::Welcome& welcome);
  void NoteClosed(StreamId stream);
  void CheckWelcome(const Stream& stream, const v1::Welcome& welcome);
  void CheckDesired(const Stream& stream, const v1::DesiredState& desired, bool is_urgent);
  void CheckAcknowledgement(const Stream& stream, const v1::Acknowledgement& acknowledgement);
  bool HasNewerRival(const v1::NodeRemoved& removed) const;
  RunName NameOf(const std::string& job_id, uint64_t run) const { return {appended_.cluster_id(), job_id, run}; }

  Sim& sim_;
  Processes& processes_;

  // State of the present scheduler process.
  Ledger appended_;  // includes records that are not durable yet
  Ledger durable_;
  std::map<StreamId, Stream> streams_;
  std::map<NodeKey, Presence> presence_;
  uint64_t last_order_ = 0;
  std::map<uint64_t, uint64_t> first_join_;                     // incarnation → order
  std::set<uint64_t> last_reports_;                             // incarnations
  std::set<std::pair<std::string, std::string>> fenced_;        // by a user: job, node
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> connects_;  // incarnation, run → last connect_seq welcomed
  MonotonicTime started_;
  MonotonicTime excused_;  // when all leases were last extended

  // State over the whole simulated time.
  std::set<std::pair<RunName, uint32_t>> durable_rounds_;
  std::map<RunName, std::string> outcomes_;  // durable, serialised
  std::map<uint64_t, RunName> run_of_;       // incarnation → run that it was welcomed in
  std::set<uint64_t> launched_;              // incarnations that started something
  std::set<uint64_t> ended_agents_;
  std::set<uint64_t> drained_;
  std::map<std::string, uint64_t> last_term_;                       // cluster → the last one sent
  std::map<PlaceName, std::pair<std::string, uint64_t>> assigned_;  // place → node, incarnation
  std::set<std::pair<uint64_t, uint32_t>> passed_checks_;           // incarnation, and the round before
};

}  // namespace muster::sim
