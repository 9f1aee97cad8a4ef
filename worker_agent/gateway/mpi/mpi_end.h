// Judges a rank's end, using the messages that the rank sent to MPI's launcher. Also ends ranks that can't go on.
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

// Adds an explanation after an abort or a refusal. Turns an end that only looks like a success into a failure.
void JudgeMpiEnd(const MpiProgress& progress, ProcessEnd& end);

// Ends ranks that wait to be ended: those that have called MPI_Abort, and those that have lost their launcher.
//
// Thread-safe. For one round.
class RankEnder {
 public:
  // The slot's process is alive from Started to Ended, as the keeper reports.
  void Started(uint32_t slot, pid_t pid);
  // Returns true if End was called for this slot.
  bool Ended(uint32_t slot);
  // Sends SIGKILL as soon as the process is known; does nothing if it has ended.
  void End(uint32_t slot);

 private:
  // Kills through the pidfd, since a pid may be used again for another process. Linux before 5.3 has no pidfd.
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
