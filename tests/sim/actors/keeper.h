// The simulated keeper of one agent and its training processes. Commands are carried out in order, each a little later.
//
// The death of a process is reported soon, but its place is free only when what descends from it has ended, too, which
// may take a minute (it hangs in a driver). Only a look at the system shows that, and a look can fail (no descriptor is
// left for /proc): then nothing is taken for gone, and the keeper looks again.
//
// | dies                  | its processes                                                                             |
// |-----------------------|-------------------------------------------------------------------------------------------|
// | the agent             | the keeper ends all, then says farewell                                                   |
// | the agent, in order   | it has waited for them, but for what can't be killed: then as above                       |
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

class Keeper {
 public:
  // What a slot's process is started as.
  struct Order {
    uint32_t slot = 0;
    uint32_t attempt = 0;
    PlaceName place;
    agent::ProcessKey key() const { return {slot, place.round, attempt}; }
  };
  using Tell = std::function<void(const agent::Event&)>;

  Keeper(Sim& sim, Processes& processes, const JobSpec& job, uint64_t incarnation, Random random, Tell tell)
      : sim_(sim),
        processes_(processes),
        job_(job),
        incarnation_(incarnation),
        random_(random),
        tell_(std::move(tell)) {}

  // Commands of the agent.
  void Start(std::vector<Order> orders);
  void StopAll();
  void KillAll();
  void SetFence(std::optional<MonotonicTime> deadline);  // on the simulation's clock
  void FenceFellWasSeen() { is_fence_down_ = false; }

  // The agent has died: all processes end, then `farewell` is called.
  void AgentDied(std::function<void()> farewell);
  // The agent has ended in order. Where it did not wait for what can't be killed, `farewell` is called when that is
  // gone.
  void AgentEnded(std::function<void()> farewell);
  // Its machine vanished: all processes are gone at once.
  void Vanish();
  // The keeper dies, and the agent kills what it had held.
  void Die();
  // Both die at one instant. `is_guarded`: a guardian ends what is left.
  void DieWithAgent(bool is_guarded);
  // Somebody ends what nobody here does any more: a later start of the node, or a person.
  void EndOrphans();

  // Faults: for so long it can't look at the system, or has no descriptor, neither to look nor to start a process.
  void GoBlind(absl::Duration length);
  void RunOutOfDescriptors(absl::Duration length);

  // Also after its agent's end, until all processes are gone: so long it, or the guardian, holds the node's lock.
  bool is_alive() const { return is_alive_; }

  // What the agent finds when it looks at its processes' files: the steps that were made since it last looked. Some
  // processes never write.
  std::vector<agent::ProgressMade> TakeProgress();
  bool HasProcesses() const { return !running_.empty() || !ordered_.empty(); }
  // A fault: one process stands still, and neither ends nor fails by itself any more.
  void HangOne(Random& random);

 private:
  struct Process {
    Order order;
    bool is_stopping = false;
    MonotonicTime started;
    absl::Duration per_step = absl::InfiniteDuration();  // infinite: it never writes
    MonotonicTime hangs_from = MonotonicTime::Never();
    uint64_t step_taken = 0;  // the last one that the agent saw
    bool has_descendant = false;
  };
  // What a process that has ended left behind.
  struct Remains {
    Order order;
    ExitStatus death;
    bool was_stopped = false;
    bool is_killed = false;  // and dies soon
    bool is_gone = false;
    bool is_told = false;  // the death, while something is left
    bool is_named = false;
    MonotonicTime died;
  };
  using Key = uint64_t;

  void Command(std::function<void()> action);
  void Spawn(const Order& order);
  void FailLaunch(const Order& order, ExitStatus death, const std::string& why);
  void PlanFate(Key key, const Order& order);
  void StopNow();
  void EndRemainsByFence();
  void End(Key key, ExitStatus death);
  // By itself: not if it hangs.
  void EndByItself(Key key, ExitStatus death);
  void EndLeaders();
  // At once, with all that descends from them.
  void EndAll();
  // Ends what a process left behind, and tells of its end when nothing is left.
  void Sweep(Key key);
  // Whether anything is left of a process that has ended; nullopt: that can't be seen now.
  std::optional<bool> IsAnythingLeft(const Remains& remains) const;
  void EndDescendant(Remains& remains);
  void BidFarewell(std::function<void()> farewell);
  bool IsPeace() const { return sim_.timeline.elapsed() >= sim_.parameters.faults_end; }
  // In order: no event overtakes an earlier one.
  void TellLater(agent::Event event) { TellLater(std::move(event), random_.UpTo(absl::Milliseconds(20))); }
  void TellLater(agent::Event event, absl::Duration delay);
  void TellOfRemains(Key key, Remains& remains);

  Sim& sim_;
  Processes& processes_;
  const JobSpec& job_;
  const uint64_t incarnation_;
  Random random_;
  const Tell tell_;
  bool is_alive_ = true;
  bool is_ending_ = false;  // its agent has died: it starts nothing any more
  bool is_quiet_ = false;   // there is no agent to tell anything
  MonotonicTime sees_from_;
  MonotonicTime starts_from_;
  Key last_key_ = 0;
  std::map<Key, Process> running_;
  std::map<Key, Remains> remains_;
  std::vector<PlaceName> ordered_;  // not started yet
  MonotonicTime last_command_;
  MonotonicTime last_told_;
  uint64_t fence_number_ = 0;
  bool is_fence_down_ = false;
  bool is_fenced_ = false;  // it fell once
};

}  // namespace muster::sim
