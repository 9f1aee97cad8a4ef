// Reads a sequence of records independently of the scheduler's own Evolve. It is the reference for the messages to
// agents, and checks the history itself.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "muster/v1/journal.pb.h"
#include "tests/sim/checks/store_ledger.h"

namespace muster::sim {

struct RunLedger {
  bool is_over = false;  // failing or ended: the next run may begin
  bool has_ended = false;
  v1::Outcome outcome;
  std::map<std::string, uint64_t> roster;       // node id → incarnation
  std::set<uint64_t> joined;                    // every incarnation that was ever in the roster
  std::set<uint64_t> dead;                      // incarnations that are known to be dead
  std::map<uint64_t, uint64_t> events_through;  // incarnation → number of its last event
  uint32_t round = 0;
  std::string digest;
  std::map<std::string, std::pair<v1::Role, std::vector<uint32_t>>> ranks;  // node id → its ranks in slot order
  std::set<std::string> lost;                                               // nodes that the run waits for
  std::map<std::string, uint64_t> stale;  // node id → an incarnation with processes that may still run
  bool is_aborted = false;                // the round was given up
  bool is_store_closed = false;           // the round or run is over, and not by a planned stop (IsWanted)
  StoreLedger store;
};

class Ledger {
 public:
  // Returns what this record contradicts; empty: nothing.
  std::string Take(const v1::Record& record);

  const std::string& cluster_id() const { return cluster_id_; }
  uint64_t term() const { return term_; }
  const RunLedger* Find(const std::string& job_id, uint64_t run) const;
  using Runs = std::map<std::pair<std::string, uint64_t>, RunLedger>;
  const Runs& runs() const { return runs_; }

 private:
  std::string TakeOpened(const v1::RunOpened& record);
  std::string TakeJoined(const v1::NodeJoined& record, RunLedger& run);
  std::string TakeRemoved(const v1::NodeRemoved& record, RunLedger& run);
  std::string TakeClosed(const v1::RoundClosed& record, RunLedger& run);
  std::string TakeLost(const v1::NodeLost& record, RunLedger& run);
  std::string TakeReturned(const v1::NodeReturned& record, RunLedger& run);
  std::string TakeGone(const v1::IncarnationGone& record, RunLedger& run);
  std::string TakeAborted(const v1::RoundAborted& record, RunLedger& run);
  std::string TakeStoreChanged(const v1::StoreChanged& record, RunLedger& run);
  std::string TakeReported(const v1::NodeReported& record, RunLedger& run);
  template <typename Record, typename Method>
  std::string InRun(const Record& record, bool may_have_ended, Method method);

  std::string cluster_id_;
  uint64_t term_ = 0;
  std::map<std::string, uint64_t> last_run_;
  Runs runs_;
};

}  // namespace muster::sim
