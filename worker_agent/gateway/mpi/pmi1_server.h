// Speaks PMI-1 with the ranks of one agent in one round. It has one thread, and one pair of sockets for each slot; the
// slot's process inherits one end.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/unique_fd.h"
#include "common/store/job_store.h"
#include "worker_agent/gateway/mpi/fences.h"
#include "worker_agent/gateway/mpi/pmi1.h"

namespace muster::agent {

class Pmi1Server {
 public:
  // Returns RESOURCE_EXHAUSTED if there are no sockets or no thread. The server's thread calls `end` with the slot of a
  // rank that has called MPI_Abort and waits to be ended. `store` and `clock` must outlive the pending calls to the
  // store.
  using EndRank = std::function<void(uint32_t slot)>;
  static absl::StatusOr<std::unique_ptr<Pmi1Server>> Start(const RoundLayout& layout, JobStore& store,
                                                           const Clock& clock, EndRank end);
  ~Pmi1Server();

  // Returns the descriptor that the slot's process inherits as PMI_FD. To be called once.
  std::shared_ptr<const UniqueFd> TakeDescriptor(uint32_t slot);

  // Returns the rank's progress. If the process has ended, waits a moment so that all that it wrote is included.
  MpiProgress ProgressOf(uint32_t slot);

 private:
  struct Connection {
    UniqueFd socket;  // closed if the process has ended or is no longer served
    std::string input;
    std::string output;
  };

  Pmi1Server(const RoundLayout& layout, JobStore& store, const Clock& clock, EndRank end);
  absl::Status Open();
  void Run();
  void Read(uint32_t slot);
  void TakeLines(uint32_t slot);
  void Write(uint32_t slot);
  void Close(uint32_t slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Sends the step's replies, and passes its fence to the other agents.
  void Carry(Pmi1::Step step);

  const EndRank end_;
  Fences fences_;  // only the server's thread uses it
  Mutex mutex_;
  CondVar changed_;
  Pmi1 pmi_ ABSL_GUARDED_BY(mutex_);
  std::vector<Connection> connections_ ABSL_GUARDED_BY(mutex_);  // by slot
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<UniqueFd> theirs_;  // only the agent's loop uses it
  std::thread thread_;
};

}  // namespace muster::agent
