// The one thread that owns the agent's core: waits for the keeper, signals and the session, and carries out the core's
// effects.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/net/mailbox.h"
#include "common/net/waker.h"
#include "common/sys/log.h"
#include "worker_agent/core/agent_core.h"
#include "worker_agent/diagnostics/stack_gatherer.h"
#include "worker_agent/keeper/client/keeper.h"
#include "worker_agent/node/own_scheduler.h"
#include "worker_agent/runtime/launcher.h"
#include "worker_agent/runtime/progress_reader.h"
#include "worker_agent/runtime/signals.h"
#include "worker_agent/runtime/status_printer.h"
#include "worker_agent/session/session.h"
#include "worker_agent/store/agent_store.h"

namespace muster::agent {

struct AgentLoopOptions {
  AgentOptions agent;
  SessionOptions session;
  std::string program;                                         // this one, for the last report …
  std::function<HandOver()> hand_over;                         // … and for its TLS
  std::function<void(const std::string& node_id)> on_welcome;  // called by the loop's thread
  std::string work_folder;                                     // of the slots' files
  std::string search_path;                                     // PATH
  // base, absolute (empty: no logs), and keep; the rest follows from the run.
  RunFolder logs;
  ServiceManager manager;             // gets the agent's states
  OwnScheduler* scheduler = nullptr;  // the one that this agent has started; must outlive the loop
  bool has_whole_job = false;         // --standalone
};

class AgentLoop {
 public:
  // The keeper is owned; `signals` and `launcher` must outlive this. `clock`: Clock::Boot(), as the keeper's; by
  // another an answer that is read after the machine has slept would set the fence too late.
  AgentLoop(AgentLoopOptions options, std::unique_ptr<Keeper> keeper, Launcher& launcher, Signals& signals,
            const Clock& clock);

  // The job's store, for gateways; as long as this lives.
  AgentStore& store() { return store_; }

  // Runs until the core has finished; every process is gone then, except any that can't be killed, and the scheduler
  // has its last reports. Returns the exit code.
  int Run();

  // For any thread, until Run returns: our certificate, or the CAs that we trust, have changed.
  void NoteTlsChange(bool has_new_certificate) {
    mailbox_.Push(TlsChanged{has_new_certificate});
    session_.CheckPeer();
  }

  // For any thread, until Run returns: reports that these commands of others were run here, or refused.
  void ReportCommands(v1::RemoteCommands commands) { mailbox_.Push(CommandsReported{std::move(commands)}); }

  // True if the run had ended for all when this agent did.
  bool HasOutcome() const { return has_outcome_; }

  // True if some of its processes are left, since they can't be killed.
  bool LeavesSome() const { return leaves_some_; }

  // True if it ended well before its run did: the node was asked to leave the job.
  bool WasDrained() const { return !has_outcome_ && exit_code_ == 0; }

 private:
  void Wait();
  void TakeKeeperEvents();
  void TakeSignals();
  void TakeProgress();
  void Apply(const Event& event);
  void BeginRound(const Launch& effect);
  void EndRoundIfOver(const v1::SchedulerMessage& message);
  void EndRound(const std::string& why);
  bool BeginLogs();  // true if it is another folder than before

  template <typename Event>
  void PushForAll(Event event);
  void On(const Started& event);
  void On(const Ended& event);
  void On(const Cleared& event);
  void On(const Unkillable& event);
  void On(const FenceFell&) { pending_.push_back(FenceHasFallen{}); }
  void On(const ClockJumped& event) { pending_.push_back(ClockHasJumped{absl::Milliseconds(event.jump_ms)}); }
  void On(const Pong&) {}
  void On(const OutputRead& event);
  void On(const KeeperLost& event);
  void EndAfterKeeper();
  void On(const KeeperSilent& event);
  void On(const KeeperAnswers&) { Log(Severity::kInfo, "the keeper answers again"); }

  void Do(const Dial& effect);
  void Do(const Send& effect);
  void Do(const SendHeartbeat& effect);
  void Do(const HangUp& effect);
  void Do(const FetchPeers& effect);
  void Do(const Launch& effect);
  void Start(const Launch& effect, absl::StatusOr<LaunchPlan> plan);
  void ContinueLaunch();
  void GiveLaunchUp();
  void Do(const StopProcesses& effect);
  void Do(const KillProcesses& effect);
  void Do(const PrintAssignment& effect);
  void Do(const SetFence& effect);
  void Do(const SetLastReport& effect);
  void Do(const GatherStacks& effect);
  void Do(const ReadLog& effect);
  uint32_t OwnerOf(uint32_t slot) const;
  void Do(const Say& effect);
  void Do(const Finish& effect);

  const AgentLoopOptions options_;
  const Clock& clock_;
  Launcher& launcher_;
  Signals& signals_;
  Waker waker_;
  Mailbox<Event> mailbox_{[this] { waker_.Wake(); }};  // outlives the session, which fills it
  StatusPrinter status_printer_;
  AgentCore core_;
  std::unique_ptr<Keeper> keeper_;
  Session session_;
  struct {
    uint64_t connect_seq = 0;
    std::shared_ptr<HeartbeatSocket> socket;  // null: none
  } heartbeats_;                              // by datagram, the last one that was sent
  AgentStore store_;
  uint64_t round_run_ = 0;  // of the round that the store and the listeners are in …
  uint32_t round_ = 0;      // … 0: none
  StackGatherer stacks_;
  ProgressReader progress_;
  MonotonicTime look_at_;  // when progress_ is to be polled next, unless it is idle

  std::deque<Event> pending_;
  std::optional<Launch> waiting_launch_;  // for a gateway
  MonotonicTime keeper_polled_at_;
  bool is_keeper_lost_ = false;
  bool is_anybody_left_ = false;  // processes of a lost keeper …
  MonotonicTime keeper_lost_at_;  // … then
  bool has_named_left_ = false;
  std::map<ProcessKey, std::vector<ProcessKey>> followers_;  // see LaunchPlan
  std::map<uint32_t, uint32_t> owners_;  // of slots that share, or shared last, the process of another slot
  v1::LastReportRequest last_report_;
  int64_t run_opened_unix_ms_ = 0;
  RunFolder logs_;  // of the run with begun logs; without a name: none
  int exit_code_ = 0;
  bool has_outcome_ = false;
  bool leaves_some_ = false;
};

}  // namespace muster::agent
