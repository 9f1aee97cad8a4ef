// The shim: the parent of one training process, and the child subreaper of all its descendants. So it knows to which
// process a descendant belongs, even one in its own session, orphaned, or with an empty environment. So one slot's next
// process starts when nothing of its former one is left, independent of the other slots.
//
//   what happens                                  what it does
//   the process ends by itself                    SIGKILL to all that is left of it, groups or not; with 0 that has a
//                                                 moment to end by itself first, and is named
//     … with 0, and waits for its background      what is left in its session is waited for, and named each 30 s, or
//                                                 until one fails; SIGKILL to the rest (left_processes.h)
//   order to stop                                 stop_signal to the process alone: a wrapper (bash, torchrun) decides
//                                                 for itself how its children end
//   the process ends after a stop                 stop_signal to what is left of its group, which has time until the
//                                                 keeper's kill; then, or when the group is gone, SIGKILL to the rest
//   order to interrupt                            SIGINT to its whole group, as a terminal does on Ctrl-C
//   the process ends after an interrupt           what is left of its group has time until the keeper's stop, which
//                                                 comes at once where all of it ignores SIGINT (a shell's background)
//   order to kill, or the keeper is gone          SIGKILL to everything
//   order to suspend, or to resume                SIGSTOP to everything that runs, or SIGCONT to what that has stopped
//   the fence fell and the keeper did not obey    the same (fence_page.h)
//   it has no child left (ECHILD)                 ends with 0
//   it is killed                                  its process dies with it, the rest comes to the keeper
//
// Where /proc can't be read, what is left counts as alive: a phase of waiting then ends with the last child (ECHILD),
// or with the failure of one.
//
// Forked from the keeper; one thread. To see its children and to kill them it neither opens a file nor allocates.
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

// The time for the shims to end their own processes once the keeper is gone: longer than they need. If guardian or
// agent killed a shim, they would have to do its work, and they may be killed in that instant.
inline constexpr absl::Duration kShimsTime = absl::Milliseconds(500);

struct ShimOptions {
  int stop_signal = 15;
  rlimit open_files{};              // of the training process
  std::optional<ProcessMark> mark;  // of the shim and all that it starts
  FencePage* page = nullptr;
  std::shared_ptr<const UniqueFd> lock;  // held open until nothing is left; null: none
};

// The keeper's end.
class Shim {
 public:
  // Forks; the caller's end of the pipes may be closed afterwards. Error: no process, no descriptor.
  static absl::StatusOr<Shim> Start(const ProcessSpec& spec, int stdout_fd, int stderr_fd, const ShimOptions& options);

  pid_t pid() const { return pid_; }
  int fd() const { return socket_.get(); }

  // Sends a signal to the process, if it has not ended.
  void Forward(int signal) const;
  // Sends stop_signal to the process, and SIGCONT if something other than Suspend has stopped it.
  void Stop() const;
  // Sends SIGINT to the process and its group, and SIGCONT likewise. Stop may follow.
  void Interrupt() const;
  void Kill() const;
  // Sends SIGSTOP to all that it has started, and SIGCONT to those that this has stopped.
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
