// What the end of a rank means, seen by what it has told MPI's launcher, and how it is brought about.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>

#include "common/base/mutex.h"
#include "common/base/unique_fd.h"
#include "worker_agent/core/process_end.h"
#include "worker_agent/gateway/mpi/pmi1.h"

namespace muster::agent {

// Says what an abort or a refusal was, and makes a failure of an end that looks well and is none.
void JudgeMpiEnd(const MpiProgress& progress, ProcessEnd& end);

// Ends ranks that wait for it: one that has called MPI_Abort, and those whose launcher is lost.
//
// Thread-safe. Of one round.
class RankEnder {
 public:
  // The slot's process is alive from Started to Ended, as the keeper tells.
  void Started(uint32_t slot, pid_t pid);
  // Whether it was to be ended here.
  bool Ended(uint32_t slot);
  // SIGKILL, as soon as it is known which process that is; nothing if it has ended.
  void End(uint32_t slot);

 private:
  // By its descriptor, which stays this process's when its id is another one's. Linux before 5.3 has none.
  struct Process {
    pid_t pid = -1;
    UniqueFd pidfd;
  };
  static void Kill(const Process& process);

  Mutex mutex_;
  std::map<uint32_t, Process> running_ ABSL_GUARDED_BY(mutex_);
  std::set<uint32_t> condemned_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::agent
