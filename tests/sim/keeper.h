// The simulated keeper of one agent and its training processes. Commands are carried out in order, each a little later.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "tests/sim/processes.h"
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
  // The agent has ended well, or its machine vanished: all processes are gone at once.
  void Vanish();
  // The keeper dies, and the agent kills what it had held.
  void Die();

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
  };
  using Key = uint64_t;

  void Command(std::function<void()> action);
  void Spawn(const Order& order);
  void PlanFate(Key key, const Order& order);
  void StopNow();
  void End(Key key, Death death);
  // By itself: not if it hangs.
  void EndByItself(Key key, Death death);
  void EndAll();
  // In order: no event overtakes an earlier one.
  void TellLater(agent::Event event);

  Sim& sim_;
  Processes& processes_;
  const JobSpec& job_;
  const uint64_t incarnation_;
  Random random_;
  const Tell tell_;
  bool is_alive_ = true;
  bool is_quiet_ = false;  // there is no agent to tell anything
  Key last_key_ = 0;
  std::map<Key, Process> running_;
  std::vector<PlaceName> ordered_;  // not started yet
  MonotonicTime last_command_;
  MonotonicTime last_told_;
  uint64_t fence_number_ = 0;
  bool is_fence_down_ = false;
};

}  // namespace muster::sim
