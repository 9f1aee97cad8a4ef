// The interface for frameworks that bring a rendezvous of their own. The processes of this agent take a gateway for
// that rendezvous. Its ports are reserved before the join (node/node_description.h), so that peers can learn them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "muster/v1/rendezvous.pb.h"
#include "worker_agent/keeper/processes.h"
#include "worker_agent/launch/environment/environment.h"

namespace muster::agent {

// A round, as this agent sees it.
struct GatewayRound {
  uint64_t run = 0;
  uint32_t round = 0;
  std::string node_id;
  v1::Assignment assignment;
  std::string host_name;                      // this machine's
  std::string own_address;                    // numeric, as the peers see this node; empty: not known
  std::shared_ptr<const v1::PeerList> peers;  // null: not known, beyond kMaxRanksInClusterFile
  std::function<void()> wake;                 // any thread, until Over: see Gateway::WhenBegun
};

// The agent's loop calls these, one call at a time. They must not block.
class Gateway {
 public:
  virtual ~Gateway() = default;

  // Called before the first process of the round starts, when all processes of the round before have ended. Called
  // again where some processes restart within the round. After OK the gateway is ready, unless WhenBegun says
  // otherwise. The error says what is wrong and what to do. From a round's first call on, the job's store
  // (AgentLoop::store) is this round's.
  virtual absl::Status Begin(const GatewayRound& round) = 0;

  // After a successful Begin: returns nothing while the gateway is not ready yet; no process starts before it is. The
  // gateway calls GatewayRound::wake once this may be asked again. An error fails the start of the processes.
  virtual std::optional<absl::Status> WhenBegun() { return absl::OkStatus(); }

  // Adds what the process of slot `input.slot` must know of the gateway, after a successful Begin.
  virtual void AddTo(EnvironmentInput& input) const = 0;

  // A descriptor that the process of the slot inherits, after AddTo. The default is none.
  virtual HandOver HandOverOf(uint32_t /*slot*/) { return {}; }

  // A process of a round that began well is running. May be called after Over, like Judge.
  virtual void Started(const ProcessKey& /*key*/, int64_t /*pid*/) {}

  // A process of a round that began well has ended, and its end is not reported yet. The gateway may turn `end` into a
  // failure, or explain it. May wait a moment for the last output of the process.
  virtual void Judge(const ProcessKey& /*key*/, ProcessEnd& /*end*/) {}

  // The processes of the round are being stopped on request, and are killed after `limit`. `why` is one line for
  // people. Nothing is broken: the gateway and the store go on serving them until Over. May be called more than once.
  virtual void Stopping(const std::string& /*why*/, absl::Duration /*limit*/) {}

  // Called before Over and before the store closes. `why` says in one line why the round was given up or the run is
  // over; empty: all went well.
  virtual void WhyOver(const std::string& /*why*/) {}

  // Called once for each round that was begun, unless the agent ends first: the round was given up, or the run is over.
  // From now on calls to the store end with kFailedPrecondition. Processes of the round may still run; they are being
  // stopped.
  virtual void Over(uint64_t /*run*/, uint32_t /*round*/) {}

  // True if no process may start where Begin fails for this round.
  virtual bool IsNeeded(const GatewayRound& /*round*/) const { return false; }
};

}  // namespace muster::agent
