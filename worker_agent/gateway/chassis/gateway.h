// The interface of gateways. A gateway stands in for the rendezvous service that a framework brings; this agent's
// processes connect to the gateway instead. Its ports are reserved before the join (node/node_description.h), so that
// peers can learn them.
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
  std::shared_ptr<const v1::PeerList> peers;  // null: the round has more than kMaxRanksInClusterFile ranks
  std::function<void()> wake;                 // callable from any thread until Over; see Gateway::WhenBegun
};

// The agent's loop calls these, one call at a time. They must not block.
class Gateway {
 public:
  virtual ~Gateway() = default;

  // Called before the first process of a round starts, when all processes of the previous round have ended. Called
  // again when some processes restart within the round. After OK the gateway is ready, unless WhenBegun says otherwise.
  // An error says what is wrong and what to do. From the first call of a round on, the job's store (AgentLoop::store)
  // belongs to this round.
  virtual absl::Status Begin(const GatewayRound& round) = 0;

  // Asked after a successful Begin, before processes start. Returns nothing while the gateway is not ready; until it
  // is, no process starts. The gateway calls GatewayRound::wake when the agent shall ask again. After an error the
  // processes' start fails.
  virtual std::optional<absl::Status> WhenBegun() { return absl::OkStatus(); }

  // Called after a successful Begin. Adds what the process of slot `input.slot` needs to find the gateway.
  virtual void AddTo(EnvironmentInput& input) const = 0;

  // Called after AddTo. Returns a descriptor that the slot's process inherits; by default none.
  virtual HandOver HandOverOf(uint32_t /*slot*/) { return {}; }

  // Called when a process of a successfully begun round has started. Like Judge, it may be called after Over.
  virtual void Started(const ProcessKey& /*key*/, int64_t /*pid*/) {}

  // Called when a process of a successfully begun round has ended, before its end is reported. The gateway may turn
  // `end` into a failure, or explain it. Unlike the other calls, this one may wait a moment for the process's last
  // output.
  virtual void Judge(const ProcessKey& /*key*/, ProcessEnd& /*end*/) {}

  // Called when the processes of the round are asked to stop although nothing has failed. They are killed after
  // `limit`. `why` is one line for people. The gateway and the store go on serving them until Over. May be called more
  // than once.
  virtual void Stopping(const std::string& /*why*/, absl::Duration /*limit*/) {}

  // Called before Over, while the store is still open. `why` says in one line why the round was given up or the run is
  // over; empty: all went well.
  virtual void WhyOver(const std::string& /*why*/) {}

  // Called when the round was given up or the run is over: once for each round that was begun, unless the agent ends
  // first. From now on calls to the store end with kFailedPrecondition. Processes of the round may still run; they are
  // being stopped.
  virtual void Over(uint64_t /*run*/, uint32_t /*round*/) {}

  // Returns true if no process may start after Begin failed for this round.
  virtual bool IsNeeded(const GatewayRound& /*round*/) const { return false; }
};

}  // namespace muster::agent
