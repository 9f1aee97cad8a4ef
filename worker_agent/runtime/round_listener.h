// Who wants to hear of the rounds of this agent's run: the gateways that native frameworks connect to.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "muster/v1/rendezvous.pb.h"

namespace muster::agent {

struct RoundBegun {
  std::string node_id;
  v1::DesiredState desired;                      // run, round, assignment
  std::shared_ptr<const std::string> peer_list;  // serialised PeerList; null beyond kMaxRanksInClusterFile
};

// Called by the agent's loop, one at a time; must not block. Every OnRoundBegun is followed by one OnRoundOver, unless
// the agent ends before.
class RoundListener {
 public:
  virtual ~RoundListener() = default;

  // Before the first process of the round is started; all of the round before have ended. From now on the job's store
  // (AgentLoop::store) is this round's.
  virtual void OnRoundBegun(const RoundBegun& round) = 0;

  // The round was given up, or the run is over: calls to the store end with kFailedPrecondition from now on. Processes
  // of the round may still run, and are being stopped.
  virtual void OnRoundOver(uint64_t run, uint32_t round) = 0;
};

}  // namespace muster::agent
