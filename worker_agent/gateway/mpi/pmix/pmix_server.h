// The agent's side of ms-pmix: starts it for a round, passes the fences of its ranks to the other agents, and records
// each rank's progress.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/store/job_store.h"
#include "worker_agent/gateway/chassis/round_layout.h"
#include "worker_agent/gateway/mpi/fences.h"
#include "worker_agent/gateway/mpi/pmi1.h"
#include "worker_agent/gateway/mpi/pmix/asked_of_agents.h"
#include "worker_agent/gateway/mpi/pmix/frames.h"
#include "worker_agent/gateway/mpi/pmix/pmix_process.h"

namespace muster::agent {

class PmixServer {
 public:
  // Waits until ms-pmix is ready, see PmixProcess. The server's thread calls `end` with the slot of each rank that has
  // lost ms-pmix, or is in a failed fence. `store` and `clock` must outlive the pending calls to the store.
  using EndRank = std::function<void(uint32_t slot)>;
  static absl::StatusOr<std::unique_ptr<PmixServer>> Start(PmixOptions options, const RoundLayout& layout,
                                                           JobStore& store, const Clock& clock, EndRank end);
  ~PmixServer();

  const std::map<std::string, std::string>& VariablesOf(uint32_t slot) const { return process_->VariablesOf(slot); }

  // Returns the rank's progress. If the process has ended, waits a moment so that all that it sent to ms-pmix is
  // included.
  MpiProgress ProgressOf(uint32_t slot);

 private:
  PmixServer(std::unique_ptr<PmixProcess> process, const RoundLayout& layout, JobStore& store, const Clock& clock,
             EndRank end);
  absl::Status Open();
  void Run();
  bool Read();
  void Write() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Send(pmix::Kind kind, const std::string& bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Take(const pmix::Frame& frame);
  void NextFence();
  void TakeModex();
  void TakeNames();
  void Lose(const std::string& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends all ranks that have neither finalized nor aborted, with the error `why`.
  void Condemn(const std::string& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  MpiProgress* OfRank(const std::string& digits) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::unique_ptr<PmixProcess> process_;
  const std::vector<uint32_t> ranks_;  // by slot
  const EndRank end_;
  Fences fences_;  // only the server's thread uses these six
  DirectModex modex_;
  PublishedNames names_;
  std::string input_;
  std::vector<std::string> bundles_;  // of the fences that have begun; the first fence is under way
  bool is_gathering_ = false;
  Mutex mutex_;
  CondVar changed_;
  std::vector<MpiProgress> progress_ ABSL_GUARDED_BY(mutex_);  // by slot
  std::string output_ ABSL_GUARDED_BY(mutex_);
  uint64_t pings_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t pongs_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_lost_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_silent_ ABSL_GUARDED_BY(mutex_) = false;  // a ping got no answer in time, so no call waits for one again
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace muster::agent
