// The shim: the parent of one training process, and the child subreaper of all its descendants. So it knows to which
// process a descendant belongs, even if the descendant has its own session, has lost its parent, or has an empty
// environment. Each slot's next process can start as soon as nothing of its last one is left; other slots don't matter.
//
//   what happens                                  what the shim does
//   the process ends by itself                    SIGKILL to all its descendants, in its group or not. If it ended
//                                                 with 0, they first have a moment to end, and are named in a report
//     … with 0, and waits_for_background is set   waits until its background jobs have ended or one has failed, and
//                                                 names them each 30 s; then SIGKILL to the rest (left_processes.h)
//   order to stop                                 stop_signal to the process alone: a wrapper (bash, torchrun) decides
//                                                 for itself how its children end
//   the process ends after a stop                 stop_signal to the rest of its group, which may run until the order
//                                                 to kill; once the group is gone, SIGKILL to all other descendants
//   order to interrupt                            SIGINT to its whole group, as a terminal does on Ctrl-C
//   the process ends after an interrupt           leaves the rest of its group time until the order to stop; if all
//                                                 of these ignore SIGINT (a shell's background jobs), stops them now
//   order to kill, or the keeper is gone          SIGKILL to all descendants
//   order to suspend                              SIGSTOP to all descendants that run
//   order to resume                               SIGCONT to those that the order to suspend has stopped
//   the fence fell and the keeper did not obey    SIGKILL to all descendants (fence_page.h)
//   the shim has no child left (ECHILD)           ends with 0
//   the shim is killed                            its process dies with it; the others become the keeper's children
//
// Where /proc can't be read, processes that the process has left count as alive. Waiting for them then ends only with
// the last child (ECHILD), or when a job has failed.
//
// The keeper forks the shim, which has one thread. To see its children and to kill them, it neither opens a file nor
// allocates memory.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/unique_fd.h"
#include "worker_agent/keeper/process/fence_page.h"
#include "worker_agent/keeper/process_mark.h"
#include "worker_agent/keeper/processes.h"
#include "worker_agent/keeper/shim/report.h"

namespace muster::agent {

inline constexpr char kShimName[] = "ms-shim";

// When the keeper is gone, guardian and agent leave the shims this time to kill their own processes. It is longer than
// the shims need. If guardian or agent killed a shim, they would have to do its work, and they may be killed at that
// moment.
inline constexpr absl::Duration kShimsTime = absl::Milliseconds(500);

struct ShimOptions {
  int stop_signal = 15;
  rlimit open_files{};              // the limit for the training process
  std::optional<ProcessMark> mark;  // set on the shim and all that it starts
  FencePage* page = nullptr;
  std::shared_ptr<const UniqueFd> lock;  // held open until nothing is left; null: none
};

// The keeper's end of a shim.
class Shim {
 public:
  // Forks the shim, which starts the process. The caller may close `stdout_fd` and `stderr_fd` afterwards. Error: no
  // process or no descriptor is available.
  static absl::StatusOr<Shim> Start(const ProcessSpec& spec, int stdout_fd, int stderr_fd, const ShimOptions& options);

  pid_t pid() const { return pid_; }
  int fd() const { return socket_.get(); }

  // Sends a signal to the process, if it has not ended.
  void Forward(int signal) const;
  // Sends stop_signal to the process, and SIGCONT after it in case something other than Suspend has stopped the
  // process.
  void Stop() const;
  // Sends SIGINT to the process and its group, and SIGCONT after it, as Stop does. Stop may follow.
  void Interrupt() const;
  void Kill() const;
  // Suspend sends SIGSTOP to all that the process has started. Resume sends SIGCONT to those that Suspend has stopped.
  void Suspend() const;
  void Resume() const;

  std::vector<ShimReport> Read(bool& is_open) const { return ReadShimReports(socket_.get(), is_open); }

 private:
  Shim(pid_t pid, UniqueFd socket) : pid_(pid), socket_(std::move(socket)) {}
  void SendOrder(int32_t kind, int32_t signal) const;

  pid_t pid_;
  UniqueFd socket_;
};

}  // namespace muster::agent
