// An allgather between the agents of a round, over the job's store: each agent gives one blob and gets the blobs of all
// agents, ordered by node. MPI's launchers call this a fence.
//
// Each agent writes its blob in pieces that are as large as a value of the store may be. The first agent collects the
// blobs and writes all of them as one text, which the others read. So, for any number of agents, each agent writes one
// blob and reads one text; the price is one more hop. An agent deletes a key that it wrote as soon as no agent needs it
// any more. The store deletes the remaining keys with the round (Lifetime::kRound).
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
  // One blob for each agent, ordered by node. An agent that can't give its blob writes nothing, and the others wait for
  // it until their limit, or until the round is over.
  using Blobs = std::vector<std::string>;
  using Done = std::function<void(absl::StatusOr<Blobs>)>;

  static constexpr size_t kMaxBlobBytes = 1024 * 1024;      // of one agent
  static constexpr size_t kMaxAllBytes = 16 * 1024 * 1024;  // of all agents, each with 4 bytes for its length

  // `own` is this agent's index, from 0; `agents` is their number. `name` is the prefix of the keys. It must be the
  // same on all agents, and no other keys may have it. `store` and `clock` must outlive all calls of `done`; this
  // object need not.
  Allgather(JobStore& store, const Clock& clock, std::string name, uint32_t own, uint32_t agents);

  // Starts the next allgather. The caller must wait until the previous one is done. Allgathers are matched by their
  // number: the n-th one of this agent belongs to the n-th one of every other agent. Calls `done` once, from a thread
  // of the store or from inside this call. Errors:
  //   kDeadlineExceeded   names the first node that has not come within `limit`
  //   kResourceExhausted  one blob or all together are too large, or the job's store is full
  //   kFailedPrecondition the round is over
  //   kInvalidArgument    a text in the store was not written by an agent
  void Start(std::string blob, absl::Duration limit, Done done);

 private:
  class Operation;
  struct Shared {
    JobStore& store;
    const Clock& clock;
    const std::string name;
    const uint32_t own;
    const uint32_t agents;
    size_t last_pieces = 0;  // number of pieces of the last result that this agent wrote
  };
  const std::shared_ptr<Shared> shared_;
  uint32_t next_ = 0;
};

}  // namespace muster::agent
