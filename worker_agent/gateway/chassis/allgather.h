// An allgather between the agents of a round, over the job's store: each agent gives one blob and gets all blobs,
// ordered by node. MPI's launchers call this a fence.
//
// Each agent writes its blob in pieces of a value's largest size. The first agent collects the blobs and writes all of
// them again as one text, which the others read. So each agent sends its blob once and reads the whole once, for any
// number of agents, at the price of one more hop. All keys belong to the round (Lifetime::kRound), and are removed as
// soon as no agent needs them any more.
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
  // The blobs by node. An agent that can't give its part gives none, and the others learn that when it ends.
  using Blobs = std::vector<std::string>;
  using Done = std::function<void(absl::StatusOr<Blobs>)>;

  static constexpr size_t kMaxBlobBytes = 1024 * 1024;      // of one agent
  static constexpr size_t kMaxAllBytes = 16 * 1024 * 1024;  // of all agents, with 4 bytes for each of them

  // Agent `own` of `agents`, from 0. `name` is a prefix for the keys, the same on all agents and used for nothing else.
  // `store` and `clock` must outlive all calls of `done`; this object need not.
  Allgather(JobStore& store, const Clock& clock, std::string name, uint32_t own, uint32_t agents);

  // Starts the next allgather, once the one before is done. All agents must number them the same. Calls `done` once,
  // from a thread of the store or from inside this call. Errors:
  //   kDeadlineExceeded   names the first node that has not come within `limit`
  //   kResourceExhausted  a blob, or all together, are too large, or the job's store is full
  //   kFailedPrecondition the round is over
  //   kInvalidArgument    the text in the store is not an agent's
  void Start(std::string blob, absl::Duration limit, Done done);

 private:
  class Operation;
  struct Shared {
    JobStore& store;
    const Clock& clock;
    const std::string name;
    const uint32_t own;
    const uint32_t agents;
    size_t last_pieces = 0;  // of the last result that this agent wrote
  };
  const std::shared_ptr<Shared> shared_;
  uint32_t next_ = 0;
};

}  // namespace muster::agent
