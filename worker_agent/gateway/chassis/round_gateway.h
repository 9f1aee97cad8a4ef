// A gateway that has its own server for each round. The server lives until the next round begins, or until the gateway
// ends it (End). It stays when some processes start again within the round.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "worker_agent/gateway/chassis/gateway.h"

namespace muster::agent {

template <typename Server>
class RoundGateway : public Gateway {
 public:
  absl::Status Begin(const GatewayRound& round) override {
    if (server_ != nullptr && run_ == round.run && round_ == round.round) return BeginAgain();
    server_.reset();
    absl::StatusOr<std::unique_ptr<Server>> server = ServerFor(round);
    if (!server.ok()) return server.status();
    server_ = *std::move(server);
    run_ = round.run;
    round_ = round.round;
    return absl::OkStatus();
  }

 protected:
  virtual absl::StatusOr<std::unique_ptr<Server>> ServerFor(const GatewayRound& round) = 0;
  // Called in place of ServerFor when some processes of the round start again.
  virtual absl::Status BeginAgain() { return absl::OkStatus(); }

  // The server of the current or the last round; null: none.
  Server* server() const { return server_.get(); }
  void End() { server_.reset(); }
  // True if the server serves the process `key`.
  bool Serves(const ProcessKey& key) const { return server_ != nullptr && round_ == key.round; }

 private:
  std::unique_ptr<Server> server_;
  uint64_t run_ = 0;
  uint32_t round_ = 0;
};

// Returns BeginAgain's error for frameworks that can't restart one process alone. `whose` is for people: "an MPI".
inline absl::Status NoneStartsAlone(const char* whose) {
  return absl::FailedPreconditionError(absl::StrCat(
      "the ranks of ", whose, " job can't start again one by one, since the others hold connections to the dead one; ",
      "start with --restart_scope job"));
}

}  // namespace muster::agent
