// The one thread that owns the agent's core: waits for the keeper, signals and the session, and carries out the core's
// effects.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/exit_codes.h"
#include "common/net/mailbox.h"
#include "common/net/waker.h"
#include "common/sys/log.h"
#include "worker_agent/core/agent_core.h"
#include "worker_agent/devices/kernel_log.h"
#include "worker_agent/diagnostics/stack_gatherer.h"
#include "worker_agent/keeper/client/keeper.h"
#include "worker_agent/node/own_scheduler.h"
#include "worker_agent/runtime/activity_watch.h"
#include "worker_agent/runtime/halt_watch.h"
#include "worker_agent/runtime/launcher.h"
#include "worker_agent/runtime/node_check_thread.h"
#include "worker_agent/runtime/progress_reader.h"
#include "worker_agent/runtime/signals.h"
#include "worker_agent/runtime/status_printer.h"
#include "worker_agent/session/session.h"
#include "worker_agent/store/agent_store.h"

namespace muster::agent {

struct AgentLoopOptions {
  AgentOptions agent;
  SessionOptions session;
  std::string program;                  // the path of this program, which also sends the last report
  std::function<HandOver()> hand_over;  // makes the TLS hand-over for the last report
  std::function<void(const std::string& node_id)> on_welcome;  // called by the loop's thread
  std::string work_folder;                                     // contains the slots' files
  std::string search_path;                                     // PATH
  NodeCheck node_check;                                        // for CheckNode
  std::vector<uint32_t> slot_devices;  // the device of each slot's process; empty: a process may use any of them
  // Only `base` (absolute; empty: no logs) and `keep` are set. The run determines the other fields.
  RunFolder logs;
  ServiceManager manager;             // is informed of the agent's states
  OwnScheduler* scheduler = nullptr;  // the one that this agent has started; must outlive the loop
  bool has_whole_job = false;         // --standalone
};

class AgentLoop {
 public:
  // Owns the keeper; `signals` and `launcher` must outlive this. `clock` must be Clock::Boot(), which the keeper uses.
  // With a clock that stands still while the machine sleeps, an answer that is read after the sleep would set the fence
  // too late.
  AgentLoop(AgentLoopOptions options, std::unique_ptr<Keeper> keeper, Launcher& launcher, Signals& signals,
            KernelLog kernel_log, const Clock& clock);

  // Returns the job's store, for gateways. It lives as long as this.
  AgentStore& store() { return store_; }

  // Runs until the core has finished, and returns the exit code. Then every process is gone, except any that can't be
  // killed, and the scheduler has the agent's last reports.
  int Run();

  // May be called from any thread until Run returns. Notes that our certificate, or the CAs that we trust, have
  // changed.
  void NoteTlsChange(bool has_new_certificate) {
    mailbox_.Push(TlsChanged{has_new_certificate});
    session_.CheckPeer();
  }

  // May be called from any thread until Run returns. Reports commands that others ran on this node, or that it refused.
  void ReportCommands(v1::RemoteCommands commands) { mailbox_.Push(CommandsReported{std::move(commands)}); }

  // Returns true if the whole run had ended when this agent did.
  bool HasOutcome() const { return has_outcome_; }

  // Returns true if some of the agent's processes are left because they can't be killed.
  bool LeavesSome() const { return leaves_some_; }

  // Returns true if the agent ended before its run did, and nothing has failed: the node was drained, or all its
  // processes had ended well.
  bool HasLeftWell() const { return !has_outcome_ && (exit_code_ == kExitSuccess || exit_code_ == kExitStopped); }

 private:
  void Wait();
  void TakeKeeperEvents();
  void TakeSignals();
  void TakeProgress();
  void Apply(const Event& event);
  void BeginRound(const Launch& effect);
  void EndRoundIfOver(const v1::SchedulerMessage& message);
  void EndRound(const std::string& why);
  bool BeginLogs();  // returns true if the folder is a new one

  template <typename Event>
  void PushForAll(Event event, void (*change)(Event&) = nullptr);
  void On(const Started& event);
  void On(const Ended& event);
  void AddKernelLines(const ProcessKey& key, ProcessEnd& end);
  void On(const Cleared& event);
  void On(const Unkillable& event);
  void On(const FenceFell&) { pending_.push_back(FenceHasFallen{}); }
  void On(const ClockJumped& event) { pending_.push_back(ClockHasJumped{absl::Milliseconds(event.jump_ms)}); }
  void On(const OutputSeen& event);
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
  void Do(const CheckNode& effect);
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
  } heartbeats_;                              // the last heartbeat by datagram: its stream and socket
  AgentStore store_;
  uint64_t round_run_ = 0;  // the run of round_
  uint32_t round_ = 0;      // the round that the store and the gateways serve; 0: none
  StackGatherer stacks_;
  NodeCheckThread node_check_;
  ProgressReader progress_;
  HaltWatch halts_;
  ActivityWatch activity_;
  KernelLog kernel_log_;
  std::map<ProcessKey, uint64_t> faults_before_;  // running processes: KernelLog::count at their start
  std::set<std::string> formats_;                 // of --expect auto that were recognised
  MonotonicTime look_at_;                         // when to poll progress_ and halts_ next, unless both are idle

  std::deque<Event> pending_;
  std::optional<Launch> waiting_launch_;  // a launch that waits for a gateway
  MonotonicTime keeper_polled_at_;
  bool is_keeper_lost_ = false;
  bool is_anybody_left_ = false;  // processes of a lost keeper are left
  MonotonicTime keeper_lost_at_;  // when the keeper was lost
  bool has_named_left_ = false;
  std::map<ProcessKey, std::vector<ProcessKey>> followers_;  // see LaunchPlan
  std::map<uint32_t, uint32_t> owners_;  // by slot: the slot whose process it shares, or shared last
  v1::LastReportRequest last_report_;
  int64_t run_opened_unix_ms_ = 0;
  RunFolder logs_;  // the run's log folder; its name is empty until it has begun
  int exit_code_ = 0;
  bool has_outcome_ = false;
  bool leaves_some_ = false;
};

}  // namespace muster::agent
