// The seam for frameworks that bring a rendezvous of their own: a gateway is what the processes of this agent take for
// it. Its ports are reserved before the join (node/node_description.h), so that peers may be told of them.
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

// What a round is to this agent.
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

// Called by the agent's loop, one call at a time; must not block.
class Gateway {
 public:
  virtual ~Gateway() = default;

  // Before the first process of the round starts (all of the round before have ended), and again where some start anew
  // within it. When it returns OK the gateway is ready for them, unless WhenBegun says that it isn't. The error says
  // what is wrong and what to do. From the first call of a round on the job's store (AgentLoop::store) is this round's.
  virtual absl::Status Begin(const GatewayRound& round) = 0;

  // After a Begin that went well: nothing, as long as what it has started is not ready; then GatewayRound::wake is
  // called once this may be asked again. No process starts before. An error fails the start of the processes.
  virtual std::optional<absl::Status> WhenBegun() { return absl::OkStatus(); }

  // Adds what the process of slot `input.slot` must know of the gateway, after a Begin that went well.
  virtual void AddTo(EnvironmentInput& input) const = 0;

  // A descriptor that the process of the slot inherits, after AddTo; none: the default.
  virtual HandOver HandOverOf(uint32_t /*slot*/) { return {}; }

  // A process of a round that began well runs. It may come after Over, as may Judge.
  virtual void Started(const ProcessKey& /*key*/, int64_t /*pid*/) {}

  // A process of a round that began well has ended, and is not reported yet: what the gateway knows may make a failure
  // of its end, or explain it. May wait a moment for what the process has written at last.
  virtual void Judge(const ProcessKey& /*key*/, ProcessEnd& /*end*/) {}

  // The processes of the round are being stopped because somebody wants that, `why` in a line for people, and are
  // killed after `limit`. Nothing broke: the gateway and the store go on serving them until Over. May come more than
  // once.
  virtual void Stopping(const std::string& /*why*/, absl::Duration /*limit*/) {}

  // Before Over, and before the store is closed: why the round was given up, or the run is over, in a line for people;
  // empty: all went well.
  virtual void WhyOver(const std::string& /*why*/) {}

  // Once for each round that was begun, unless the agent ends before: the round was given up, or the run is over. Calls
  // to the store end with kFailedPrecondition from now on. Processes of the round may still run, and are being stopped.
  virtual void Over(uint64_t /*run*/, uint32_t /*round*/) {}

  // Whether no process may start where Begin fails for this round.
  virtual bool IsNeeded(const GatewayRound& /*round*/) const { return false; }
};

}  // namespace muster::agent
