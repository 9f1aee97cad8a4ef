// The judgement of a rank's end by its progress (MpiProgress):
//
// end      progress                          result
//
// stopped  any                               unchanged, since a stopped process can't show success or failure
// any      aborted                           failed, with the abort's code and message
// any      could not be served               failed, with the reason
// well     never connected                   failed: the rank ran as a job of its own, "rank 0 of 1"
// well     connected, not finalized          failed, as with mpirun, since the other ranks wait for MPI_Finalize
// well     finalized                         unchanged
// failed   any other                         unchanged
//
// If the process has reported an error message itself, that message stays.
#include "worker_agent/gateway/mpi/mpi_end.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/text.h"

namespace muster::agent {

namespace {

void Fail(int code, const std::string& why, ProcessEnd& end) {
  if (end.exit.IsSuccess()) end.exit.code = code;
  if (end.error_message.empty()) {
    end.error_message = EscapeControl(why);
    CutText(end.error_message, kMaxErrorMessageBytes);
  }
}

}  // namespace

void JudgeMpiEnd(const MpiProgress& progress, ProcessEnd& end) {
  if (end.was_stopped || !end.launch_error.empty()) return;
  if (progress.has_aborted) {
    const std::string said = progress.abort_message.empty() ? "" : absl::StrCat(": ", progress.abort_message);
    const int code = progress.abort_code & 0xff;
    end.exit = ExitStatus();  // if the agent has killed the process, its status says nothing
    return Fail(code == 0 ? 1 : code, absl::StrCat("MPI_Abort with code ", progress.abort_code, said), end);
  }
  if (!progress.error.empty()) {
    end.exit = ExitStatus();  // as above
    return Fail(1, progress.error, end);
  }
  if (!end.exit.IsSuccess() || progress.has_finalized) return;
  if (progress.has_connected) {
    return Fail(1, "it ended without MPI_Finalize, for which the other ranks wait; call it before every exit", end);
  }
  Fail(1,
       "it ended well without having connected to this job's MPI, so it ran alone, as rank 0 of 1. If its MPI is of "
       "another family than the one served, name its family with --mpi pmix (Open MPI) or --mpi pmi1 (MPICH); if it "
       "needs no MPI, start with --mpi none",
       end);
}

void RankEnder::Started(uint32_t slot, pid_t pid) {
  if (pid <= 0) return;  // not known: kill(0) would signal this program's own group
  const MutexLock lock(mutex_);
  Process process;
  process.pid = pid;
  process.pidfd.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process.pidfd.is_open() && errno == ESRCH) return;  // it has ended already, which will be reported
  if (condemned_.contains(slot)) Kill(process);
  running_[slot] = std::move(process);
}

bool RankEnder::Ended(uint32_t slot) {
  const MutexLock lock(mutex_);
  running_.erase(slot);
  return condemned_.contains(slot);
}

void RankEnder::End(uint32_t slot) {
  const MutexLock lock(mutex_);
  condemned_.insert(slot);
  const auto found = running_.find(slot);
  if (found != running_.end()) Kill(found->second);
}

void RankEnder::Kill(const Process& process) {
  if (process.pidfd.is_open()) {
    ::syscall(SYS_pidfd_send_signal, process.pidfd.get(), SIGKILL, nullptr, 0);
  } else {
    ::kill(process.pid, SIGKILL);
  }
}

}  // namespace muster::agent
