// The parts of AgentCore, one file for each: receiving.cc (the scheduler's messages), converging.cc (the processes that
// must run), ending.cc (when and how the agent ends), agent_core.cc (events and time). Private to worker_agent/core.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "muster/v1/rendezvous.pb.h"
#include "worker_agent/core/agent_core.h"
#include "worker_agent/core/connection/connector.h"
#include "worker_agent/core/connection/fence.h"
#include "worker_agent/core/connection/heartbeat_path.h"
#include "worker_agent/core/connection/replacement.h"
#include "worker_agent/core/connection/reporter.h"
#include "worker_agent/core/events.h"
#include "worker_agent/core/leftovers.h"
#include "worker_agent/core/peer_list.h"
#include "worker_agent/core/processes.h"
#include "worker_agent/core/progress.h"
#include "worker_agent/core/stack_queries.h"
#include "worker_agent/core/stopping.h"

namespace muster::agent {

// The node's place in the cluster, as the last welcome gave it. Each later join sends it to the scheduler.
struct Membership {
  std::string cluster_id;
  uint64_t run = 0;  // 0: never welcomed
  int64_t run_opened_unix_ms = 0;
  std::string node_id;
  uint64_t term = 0;

  bool IsWelcomed() const { return run != 0; }
  void Take(const v1::SchedulerMessage& welcome) {
    cluster_id = welcome.welcome().cluster_id();
    run = welcome.welcome().run();
    run_opened_unix_ms = welcome.welcome().run_opened_unix_ms();
    node_id = welcome.welcome().node_id();
    term = welcome.term();
  }
  // True if the welcome belongs to another run or another cluster.
  bool IsOtherRun(const v1::Welcome& welcome) const {
    return welcome.run() != run || welcome.cluster_id() != cluster_id;
  }
};

class AgentCore::Impl {
 public:
  explicit Impl(AgentOptions options);

  Effects Apply(const Event& event, MonotonicTime now);
  MonotonicTime NextDeadline() const;
  bool IsFinished() const { return is_finished_; }
  absl::Duration heartbeat_interval() const { return heartbeat_interval_; }
  void CheckInvariants() const;

 private:
  // The reason why the agent is about to end. kOutcome and kHopeless may replace kLeaving; no other kind is ever
  // replaced.
  struct Ending {
    enum class Kind {
      kOutcome,   // the run has ended: acknowledge that to the scheduler, then end
      kLeaving,   // a signal came, or the keeper is dead: report that this node leaves, then end
      kHopeless,  // refused, or the scheduler is lost: no report is possible
    };
    Kind kind = Kind::kOutcome;
    int exit_code = 0;
    std::vector<Say> last_words;
    v1::NodeLeaving leaving;                   // only for kLeaving
    std::optional<MonotonicTime> quiet_since;  // since when nothing is left of any process
    // The end of waiting for acknowledgements, once quiet_since is set.
    MonotonicTime give_up_at = MonotonicTime::Never();

    v1::NodeEvent LeavingEvent(bool is_quiet) {
      leaving.set_is_quiet(is_quiet);
      v1::NodeEvent event;
      *event.mutable_leaving() = leaving;
      return event;
    }
  };

  // agent_core.cc
  void OnEvent(const Begin& event);
  void OnEvent(const MessageReceived& event);
  void OnEvent(const HeartbeatAnswered& event);
  void OnEvent(const DialWaits& event);
  void OnEvent(const StreamBroken& event);
  void OnEvent(const PeersFetched& event);
  void OnEvent(const ProcessHasStarted& event);
  void OnEvent(const ProcessHasEnded& event);
  void OnEvent(const NothingLeft& event);
  void OnEvent(const ProcessIsStuck& event);
  void OnEvent(const FenceHasFallen& event);
  void OnEvent(const ClockHasJumped& event);
  void OnEvent(const KeeperDied& event);
  void OnEvent(const OwnSchedulerLost& event);  // ending.cc
  void OnEvent(const EndSignal& event);
  void OnEvent(const LaunchFailed& event);
  void OnEvent(const ProgressMade& event);
  void OnEvent(const OutputMatched& event);
  void OnEvent(const ActivitySeen& event);
  void OnEvent(const ProcessHalted& event);
  void OnEvent(const StacksGathered& event);
  void OnEvent(const LogRead& event);
  void OnEvent(const TlsChanged& event);
  void OnEvent(const CommandsReported& event);
  void OnEvent(const NodeChecked& event);  // converging.cc
  void OnEvent(const Tick& event);
  void RunTimers();
  void SendDueReport();
  void FailLaunch(const std::vector<ProcessKey>& ids, const LaunchFailed& failure);
  void ReportEnd(const ProcessKey& key, const ProcessEnd& end, absl::Duration age, bool leaves_some = false);
  void SendJoin(uint64_t connect_seq, bool is_replacement);
  // The open stream or the dial has failed: dials again after a while.
  void Redial(const std::string& reason);

  // receiving.cc
  void OnWelcome(const v1::SchedulerMessage& message);
  // Does what the welcomes of a dial and of a replacement have in common.
  void TakeWelcome(const v1::SchedulerMessage& message);
  void OnReplacementMessage(const v1::SchedulerMessage& message);
  SetLastReport MakeLastReport() const;
  void OnRefusal(const v1::Refusal& refusal);
  void OnNotAuthorized(const v1::Refusal& refusal);
  void OnClusterChanged(const v1::Refusal& refusal);
  void OnAcknowledgement(const v1::Acknowledgement& acknowledgement);
  void ShowWaiting(const v1::WaitStatus& waiting);
  void OnDesired(const v1::DesiredState& desired);
  void OnProbe(const v1::Probe& probe);
  void OnLogQuery(const v1::LogQuery& query);

  // converging.cc
  void Converge();
  void QuitRound();
  // Runs the node check if the scheduler asks for it.
  void CheckNodeIfAsked();
  void ReportNodeCheck();
  void StartRound();
  bool IsAnySlotHeldUp() const;
  std::vector<uint32_t> SlotsToStart() const;
  void LaunchSlots(const std::vector<uint32_t>& slots);
  void PrintAndReport(const std::vector<uint32_t>& slots);
  // Kills the processes that have not ended some time after stop_timeout.
  void StopPatiently();

  // ending.cc
  void EndHopeless(int exit_code, Say last_word);
  void EndByOutcome();
  void Leave(int exit_code, int signal, const std::string& reason, Say last_word);
  void LeaveWithoutKeeper();
  // If the scheduler that this agent started is lost, decides how the agent ends and returns true.
  bool EndWithOwnScheduler();
  void StepEnding();
  void StepOutcome();
  void StepLeaving();
  void FinishNow();

  void Emit(Effect effect) { effects_.push_back(std::move(effect)); }
  void SendToScheduler(v1::AgentMessage message);

  const AgentOptions options_;
  MonotonicTime now_;
  Effects effects_;
  Jitter dial_jitter_;
  Connector connector_;
  Replacement replacement_;
  Jitter jitter_;
  Reporter reporter_;
  HeartbeatPath heartbeat_path_;
  Fence fence_;
  Processes processes_;
  Stopping stopping_;
  HeldEnds held_ends_;
  PeerList peers_;
  StackQueries stacks_;
  Progress progress_;
  std::map<ProcessKey, ProcessHalted> halted_;  // running processes that the kernel does not let run
  bool is_finished_ = false;

  // The scheduler's last orders and settings.
  Membership membership_;
  absl::Duration heartbeat_interval_ = absl::Seconds(2);
  uint64_t answered_seq_ = 0;  // the latest heartbeat that the scheduler has answered
  v1::DesiredState desired_;

  bool takes_progress_ = false;  // the scheduler takes progress by datagram, on this stream
  bool has_hinted_ = false;      // options_.scheduler_hint was logged while the job waited for nodes
  bool is_shut_out_ = false;     // the last connection failed because of TLS or identity
  std::string unwelcome_text_;   // why the scheduler refuses this node, as it was last logged
  uint32_t printed_round_ = 0;
  uint32_t quit_round_ = 0;     // the last round that was reported as quit
  uint32_t checked_round_ = 0;  // the last round after which the node check was made or begun
  bool is_checking_ = false;    // the node check runs
  bool is_keeper_dead_ = false;
  bool has_reported_stuck_ = false;   // the last report named stuck processes
  bool has_reported_halted_ = false;  // the last report named halted processes
  bool wants_word_ = false;           // the next report must go at once, and over the stream
  bool was_dead_path_reported_ = false;
  std::optional<OwnSchedulerLost> own_scheduler_lost_;
  std::optional<Ending> ending_;
  int end_signal_ = 0;
};

}  // namespace muster::agent
