// One start of ms-worker: a real agent core, a simulated keeper, and the environment of both.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/actors/keeper.h"
#include "tests/sim/actors/processes.h"
#include "tests/sim/actors/store_user.h"
#include "tests/sim/checks/world_invariants.h"
#include "tests/sim/network.h"
#include "tests/sim/sim.h"
#include "worker_agent/core/agent_core.h"

namespace muster::sim {

// The contents of a node's lock file about the start that holds the lock, as in worker_agent/node/lock_record.h.
struct LockFile {
  uint64_t start = 0;           // 0: no start has taken it yet
  std::vector<uint64_t> ended;  // earlier starts that left nothing running
};

class AgentHost : public AgentEnd {
 public:
  struct Parts {
    Sim& sim;
    Network& network;
    Processes& processes;
    WorldInvariants& invariants;
  };
  // `node_id` may be the id that the scheduler assigned to an earlier start on the same machine. `lock`: the node's
  // lock, if this start holds it.
  AgentHost(Parts parts, const JobSpec& job, const NodeSpec& node, std::string node_id, std::optional<LockFile> lock,
            uint64_t incarnation, Random random);

  void Begin();
  // Faults and users' actions. All of these do nothing once the agent has ended.
  void Kill();                               // SIGKILL to the agent; its keeper sends the last report
  void KillKeeper();                         // SIGKILL to the keeper
  void KillWithKeeper();                     // SIGKILL to both at the same instant
  void BlindKeeper(absl::Duration length);   // the keeper can't look at the system
  void StarveKeeper(absl::Duration length);  // the keeper is out of descriptors
  void Vanish();                             // the machine vanishes
  void Hang(absl::Duration length);          // SIGSTOP, SIGCONT
  void Signal(int signal);
  void RenewCertificate();
  void HangProcess(Random& random);

  // Call it after the agent's end: a person ends the processes that the agent left running.
  void EndOrphans();

  bool HasEnded() const { return has_ended_; }
  // The agent holds the lock; after its end its keeper or guardian does, while there are processes.
  bool HoldsLock() const { return !has_ended_ || (keeper_.is_alive() && parts_.processes.IsAnyAlive(incarnation_)); }
  int exit_code() const { return exit_code_; }  // -1 unless the agent ended by itself
  const NodeSpec& node() const { return node_; }
  const std::string& job_id() const { return job_.id; }
  uint64_t incarnation() const { return incarnation_; }
  const std::string& known_id() const { return known_id_; }
  bool was_touched() const { return was_touched_; }  // by a fault or a user
  // `on_end` is called once, however the process has ended.
  void SetOnEnd(std::function<void()> on_end) { on_end_ = std::move(on_end); }

  void OnMessage(uint64_t connect_seq, const v1::SchedulerMessage& message) override;
  void OnBroken(uint64_t connect_seq, const std::string& reason) override;
  void OnAnswered(uint64_t connect_seq, const v1::Acknowledgement& acknowledgement) override;

 private:
  agent::AgentOptions Options() const;
  MonotonicTime LocalNow() const;
  // This is not inlined, because gcc 12 would otherwise warn about members of other alternatives that it believes to be
  // copied.
  [[gnu::noinline]] void Deliver(const agent::Event& event);
  void Apply(const agent::Event& event);
  void Arm();
  // Looks at the progress of its processes once a second while there are any.
  void WatchProgress();
  void EndProcess(bool is_silent);

  void Do(const agent::Dial& effect);
  void Do(const agent::Send& effect);
  void Do(const agent::SendHeartbeat& effect);
  void Do(const agent::HangUp& effect);
  void Do(const agent::FetchPeers& effect);
  void Do(const agent::Launch& effect);
  void Do(const agent::StopProcesses& effect);
  void Do(const agent::KillProcesses& effect);
  void Do(const agent::PrintAssignment& effect);
  void Do(const agent::SetFence& effect);
  void Do(const agent::SetLastReport& effect);
  void Do(const agent::GatherStacks& effect);
  void Do(const agent::CheckNode& effect);
  void Do(const agent::ReadLog&) {}  // no one asks for logs here
  void Do(const agent::Say& effect);
  void Do(const agent::Finish& effect);
  void BeginStoreRound(const v1::DesiredState& desired);
  void EndStoreRoundIfOver(const v1::SchedulerMessage& message);
  PlaceName PlaceOf(const v1::DesiredState& desired, uint32_t slot) const;

  Parts parts_;
  const JobSpec& job_;
  const NodeSpec& node_;
  const uint64_t incarnation_;
  std::string known_id_;
  const std::optional<LockFile> lock_;
  agent::AgentCore core_;
  Keeper keeper_;
  const std::shared_ptr<StoreUser> store_;  // null: this simulation has no store
  bool has_ended_ = false;
  bool is_watching_ = false;
  bool was_touched_ = false;
  int exit_code_ = -1;
  std::function<void()> on_end_;
  MonotonicTime armed_at_ = MonotonicTime::Never();
  MonotonicTime hangs_until_;
  std::deque<agent::Event> pending_events_;  // events that wait while it hangs
  v1::LastReportRequest last_report_;
  RunName run_;
  MonotonicTime last_step_;
  bool is_checking_ = false;
  int steps_now_ = 0;  // at one instant: a core that never stops is broken
};

}  // namespace muster::sim
