// The simulated keeper of one agent and its training processes. It carries out commands in order, each a little later.
//
// The keeper reports the death of a process soon, but the process's place is free only when its descendants have ended,
// too. That may take a minute if one hangs in a driver. Only a look at the system shows their end, and a look can fail,
// because no descriptor is left for /proc. Then the keeper takes no process for gone, and looks again.
//
// | dies                  | its processes                                                                             |
// |-----------------------|-------------------------------------------------------------------------------------------|
// | the agent             | the keeper ends all, then sends the last report                                           |
// | the agent, in order   | it has waited for all except those that can't be killed: for these, as above              |
// | the keeper            | the agent ends all                                                                        |
// | both at one instant   | die with them; their descendants are ended by the guardian, where there is one            |
// | the machine           | die with it                                                                               |
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "scheduler/core/state/events.h"
#include "tests/sim/actors/processes.h"
#include "tests/sim/random.h"
#include "tests/sim/sim.h"
#include "worker_agent/core/events.h"

namespace muster::sim {

// The exit codes of processes that fail by themselves, and what their error files then say.
inline constexpr int kScriptBug = 1;
inline constexpr int kBrokenDevice = 3;

class Keeper {
 public:
  // The start of a slot's process.
  struct Order {
    uint32_t slot = 0;
    uint32_t attempt = 0;
    PlaceName place;
    agent::ProcessKey key() const { return {slot, place.round, attempt}; }
  };
  using EventSink = std::function<void(const agent::Event&)>;

  Keeper(Sim& sim, Processes& processes, const JobSpec& job, uint64_t incarnation, Random random, EventSink report)
      : sim_(sim),
        processes_(processes),
        job_(job),
        incarnation_(incarnation),
        random_(random),
        report_(std::move(report)) {}

  // Commands of the agent.
  void Start(std::vector<Order> orders);
  void StopAll();
  void KillAll();
  void SetFence(std::optional<MonotonicTime> deadline);  // by the simulation's clock
  void FenceFellWasSeen() { is_fence_down_ = false; }

  // The agent has died: all processes end, then the callback runs.
  void AgentDied(std::function<void()> send_last_report);
  // The agent has ended in order. If it did not wait for processes that can't be killed, the callback runs when they
  // are gone.
  void AgentEnded(std::function<void()> send_last_report);
  // The machine vanished: all processes are gone at once.
  void Vanish();
  // The keeper dies, and the agent kills the keeper's processes.
  void Die();
  // The keeper and its agent die at the same instant. `is_guarded`: a guardian ends the rest.
  void DieWithAgent(bool is_guarded);
  // A later start of the node, or a person, ends the processes that this node no longer ends.
  void EndOrphans();

  // Faults. For `length`, it can't look at the system, or has no descriptor, so that it can neither look nor start a
  // process.
  void GoBlind(absl::Duration length);
  void RunOutOfDescriptors(absl::Duration length);

  // Also true after its agent's end, until all processes are gone. Until then it, or the guardian, holds the node's
  // lock.
  bool is_alive() const { return is_alive_; }

  // Returns the steps that the agent finds in its processes' files since its last look. Some processes never write.
  std::vector<agent::ProgressMade> TakeProgress();
  bool HasProcesses() const { return !running_.empty() || !ordered_.empty(); }
  // A fault: one process stands still, and no longer ends or fails by itself.
  void HangOne(Random& random);

 private:
  struct Process {
    Order order;
    bool is_stopping = false;
    MonotonicTime started;
    absl::Duration per_step = absl::InfiniteDuration();  // infinite: it never writes
    MonotonicTime hangs_from = MonotonicTime::Never();
    uint64_t step_taken = 0;  // the last step that the agent saw
    bool has_descendant = false;
  };
  // The descendants of a process that has ended.
  struct Remains {
    Order order;
    ExitStatus death;
    bool was_stopped = false;
    bool is_killed = false;  // will die soon
    bool is_gone = false;
    bool is_reported = false;  // the death was reported while some were left
    bool is_named = false;
    MonotonicTime died;
  };
  using Key = uint64_t;

  void Command(std::function<void()> action);
  void Spawn(const Order& order);
  void FailLaunch(const Order& order, ExitStatus death, const std::string& why);
  void PlanFate(Key key, const Order& order);
  void StopNow(absl::Duration timeout);
  void EndByFence();
  void End(Key key, ExitStatus death);
  // Ends a process by itself, unless it hangs.
  void EndByItself(Key key, ExitStatus death);
  void EndLeaders();
  // Ends all processes at once, with all their descendants.
  void EndAll();
  // Ends the descendants of a process, and reports its end when none is left.
  void Sweep(Key key);
  // True if any descendant of an ended process is left; nullopt: that can't be seen now.
  std::optional<bool> IsAnythingLeft(const Remains& remains) const;
  void EndDescendant(Remains& remains);
  void SendLastReport(std::function<void()> send_last_report);
  bool IsPeace() const { return sim_.timeline.elapsed() >= sim_.parameters.faults_end; }
  // Events keep their order: none overtakes an earlier one.
  void ReportLater(agent::Event event) { ReportLater(std::move(event), random_.UpTo(absl::Milliseconds(20))); }
  void ReportLater(agent::Event event, absl::Duration delay);
  void ReportRemains(Key key, Remains& remains);

  Sim& sim_;
  Processes& processes_;
  const JobSpec& job_;
  const uint64_t incarnation_;
  Random random_;
  const EventSink report_;
  bool is_alive_ = true;
  bool is_ending_ = false;  // its agent has died, so it starts nothing more
  bool is_quiet_ = false;   // there is no agent to report to
  MonotonicTime sees_from_;
  MonotonicTime starts_from_;
  Key last_key_ = 0;
  std::map<Key, Process> running_;
  std::map<Key, Remains> remains_;
  std::vector<PlaceName> ordered_;  // ordered, but not started yet
  MonotonicTime last_command_;
  MonotonicTime last_report_at_;
  uint64_t fence_number_ = 0;
  bool is_fence_down_ = false;
  bool is_fenced_ = false;  // the fence has fallen once
};

}  // namespace muster::sim
