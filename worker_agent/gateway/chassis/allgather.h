// An allgather between the agents of a round, over the job's store: each gives one blob and gets all of them, ordered
// by node. What MPI's launchers call a fence.
//
// Each agent writes its blob, in pieces of a value's largest size. The first agent collects them and writes all of them
// once more as one text, which the others read: so each agent sends its blob once and reads the whole once, however
// many agents there are, at the price of one more way. All keys are of the round (Lifetime::kRound), and go as soon as
// nobody needs them any more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/store/job_store.h"

namespace muster::agent {

class Allgather {
 public:
  // By node. An agent that can't give its part gives none, and the others are told by its end.
  using Blobs = std::vector<std::string>;
  using Done = std::function<void(absl::StatusOr<Blobs>)>;

  static constexpr size_t kMaxBlobBytes = 1024 * 1024;      // of one agent
  static constexpr size_t kMaxAllBytes = 16 * 1024 * 1024;  // of all agents, with 4 bytes for each of them

  // Agent `own` of `agents`, from 0. `name` is a prefix for the keys, the same on all agents and nobody else's. `store`
  // and `clock` must outlive all calls of `done`; this object need not.
  Allgather(JobStore& store, const Clock& clock, std::string name, uint32_t own, uint32_t agents);

  // The next one, which all agents number alike; once the one before is done. `done` is called once, by a thread of the
  // store's or from inside the call. Errors:
  //   kDeadlineExceeded   it names the first node that has not come within `limit`
  //   kResourceExhausted  a blob, or all together, are too large, or the job's store is full
  //   kFailedPrecondition the round is over
  //   kInvalidArgument    what stands in the store is not of an agent
  void Start(std::string blob, absl::Duration limit, Done done);

 private:
  class Operation;
  struct Shared {
    JobStore& store;
    const Clock& clock;
    const std::string name;
    const uint32_t own;
    const uint32_t agents;
    size_t last_pieces = 0;  // of the last result that this agent has written
  };
  const std::shared_ptr<Shared> shared_;
  uint32_t next_ = 0;
};

}  // namespace muster::agent
