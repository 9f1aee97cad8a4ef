// The round that a gateway serves. Begin comes again where some of its processes start anew.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "worker_agent/gateway/chassis/gateway.h"

namespace muster::agent {

class BegunRound {
 public:
  void Set(const GatewayRound& round) {
    run_ = round.run;
    round_ = round.round;
  }
  bool Is(const GatewayRound& round) const { return run_ == round.run && round_ == round.round; }
  // Of one of this agent's processes.
  bool IsOf(const ProcessKey& key) const { return round_ == key.round; }

 private:
  uint64_t run_ = 0;
  uint32_t round_ = 0;
};

// Where some may not start anew; `whose`: "an MPI", for people.
inline absl::Status NoneStartsAlone(const char* whose) {
  return absl::FailedPreconditionError(absl::StrCat(
      "the ranks of ", whose, " job can't start again one by one, since the others hold connections to the dead one; ",
      "start with --restart_scope job"));
}

}  // namespace muster::agent
