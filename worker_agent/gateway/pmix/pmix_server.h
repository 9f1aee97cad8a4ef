// The agent's side of ms-pmix: starts it for a round, gives the fences of its ranks to the other agents, and knows how
// far each rank has come.
#pragma once

#include <sys/types.h>

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
#include "common/base/unique_fd.h"
#include "common/net/mailbox.h"
#include "common/net/poller.h"
#include "common/store/job_store.h"
#include "worker_agent/gateway/mpi/allgather.h"
#include "worker_agent/gateway/mpi/layout.h"
#include "worker_agent/gateway/mpi/verdict.h"
#include "worker_agent/gateway/pmix/frames.h"

namespace muster::agent {

struct PmixOptions {
  std::string program;  // ms-pmix
  std::string folder;   // of the round, which it makes and removes; absolute
  // Where a folder is made, and removed, for the memory that ranks share. Its files are named by host and local rank,
  // which agents of one machine have in common.
  std::string memory = "/dev/shm";
};

class PmixServer {
 public:
  // Waits until ms-pmix is ready, 5 s at most (it takes some 50 ms): the ranks' environments come from it. The error
  // says what it said. `end` is called by a thread of this for each slot's rank that has lost ms-pmix, or whose fence
  // has failed. `store` and `clock` must outlive what this has asked the store.
  using EndRank = std::function<void(uint32_t slot)>;
  static absl::StatusOr<std::unique_ptr<PmixServer>> Start(PmixOptions options, const MpiLayout& layout,
                                                           JobStore& store, const Clock& clock, EndRank end);
  // Ends ms-pmix, and removes its folder.
  ~PmixServer();

  // PMIX_… of the slot's process, and where it has its shared memory.
  const std::map<std::string, std::string>& VariablesOf(uint32_t slot) const { return variables_[slot]; }

  // How far it has come. Of a process that has ended: with all that it had told ms-pmix, for which a moment is waited.
  MpiProgress ProgressOf(uint32_t slot);

 private:
  using Gathered = absl::StatusOr<Allgather::Blobs>;
  struct Inbox {  // outlives this for as long as the store owes an answer
    Poller poller;
    Mailbox<Gathered> gathered{[this] { poller.Wake(); }};
  };

  PmixServer(PmixOptions options, const MpiLayout& layout, JobStore& store, const Clock& clock, EndRank end);
  absl::Status Open(const MpiLayout& layout);
  absl::Status Spawn();
  absl::Status WaitUntilReady();
  absl::Status TakeVariables(const std::string& bytes);
  void Run();
  bool Read();
  void Write() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Send(pmix::Kind kind, const std::string& bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Take(const pmix::Frame& frame);
  void NextFence();
  void Lose(const std::string& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends the ranks that have not come to an end by themselves.
  void Condemn(const std::string& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  MpiProgress* OfRank(const std::string& digits) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MakeMemoryFolder();
  std::string Reap();

  const PmixOptions options_;
  const std::vector<uint32_t> ranks_;  // by slot
  const EndRank end_;
  std::vector<std::map<std::string, std::string>> variables_;
  std::string memory_folder_;  // empty: there is none
  UniqueFd memory_lock_;       // of that folder; ms-pmix has it, too
  const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  Allgather allgather_;  // the thread's, as the four below
  std::string input_;
  std::vector<std::string> fences_;  // to be gathered, the first of them is
  bool is_gathering_ = false;
  bool had_fence_ = false;
  UniqueFd socket_;
  pid_t pid_ = -1;
  Mutex mutex_;
  CondVar changed_;
  std::vector<MpiProgress> progress_ ABSL_GUARDED_BY(mutex_);  // by slot
  std::string output_ ABSL_GUARDED_BY(mutex_);
  uint64_t pings_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t pongs_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_lost_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_silent_ ABSL_GUARDED_BY(mutex_) = false;   // a ping was not answered: nobody waits for one again
  bool is_serving_ ABSL_GUARDED_BY(mutex_) = false;  // it has begun well, so that ranks come
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace muster::agent
