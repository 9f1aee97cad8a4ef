// Uses the job's store as the processes of one agent do, through the agent's own part of it. Checks that they see their
// own changes, each once, and nothing of another round.
#pragma once

#include <cstdint>
#include <memory>

#include "tests/sim/network.h"
#include "tests/sim/random.h"
#include "tests/sim/sim.h"
#include "worker_agent/store/store_core.h"

namespace muster::sim {

class StoreUser : public std::enable_shared_from_this<StoreUser> {
 public:
  StoreUser(Sim& sim, Network& network, size_t machine, uint64_t incarnation, Random random)
      : sim_(sim), network_(network), machine_(machine), incarnation_(incarnation), random_(random) {}

  void BeginRound(const v1::StoreCaller& caller);
  void EndRound();
  void Connect();
  void Disconnect();
  // The agent has ended: nothing more is done.
  void Stop();
  bool IsInRound(uint64_t run, uint32_t round) const {
    return is_in_round_ && caller_.run() == run && caller_.round() == round;
  }

 private:
  MonotonicTime Now() const { return sim_.timeline.monotonic(); }
  void CarryOut(agent::StoreCore::Effects effects);
  void ActLater();
  void Act();
  void Set();
  void GetOwn();
  void Count();
  void Look();
  void TickLater();

  Sim& sim_;
  Network& network_;
  const size_t machine_;
  const uint64_t incarnation_;
  Random random_;
  agent::StoreCore core_;
  v1::StoreCaller caller_;
  bool is_in_round_ = false;
  bool is_stopped_ = false;
  bool is_ticking_ = false;
  uint64_t epoch_ = 0;  // counts the rounds: an answer to a request of an earlier round may say anything
  int actions_ = 0;     // left in this round

  int64_t added_ = 0;    // how much was added to its counter, at most
  int64_t counted_ = 0;  // the last sum that it got
  uint64_t own_ = 0;     // the last value of its own key in this round; 0: none
  uint64_t last_value_ = 0;
};

}  // namespace muster::sim
