// The keeper: the small single-threaded process beside each agent that starts, watches and ends the training processes.
//
// The keeper opens no file that a user names: if a file system hung, the keeper would hang with it, and could not watch
// the processes or obey the fence. Helper processes access these files in its place (file_helper.h), and also stdout or
// stderr where that is a file. Threads would not do: a process can't end while one of its threads hangs in a file
// system.
//
// It is forked before the agent has a second thread, so before gRPC starts. The keeper has its own session, is named
// ms-keeper, and is a child subreaper: every descendant of a training process that loses its parent becomes its child.
// It drains the processes' output into log files and the terminal, and keeps the last lines. When the agent dies, it
// kills every descendant and runs the last-report command. PR_SET_PDEATHSIG alone would not be enough: it fires when
// the forking *thread* ends, a change of uid clears it, and grandchildren never have it.
//
// No training process may outlive its fence, whichever of these processes is killed. So they form a chain, in which
// each process is the child subreaper of those below it: agent, guardian (guardian.h), keeper, one shim for each
// training process (shim.h), training process. If any three of agent, guardian, keeper and shim are killed at once, the
// fourth ends the remaining processes.
//
// This header is the agent's side. One thread owns a Keeper object (the agent's loop).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "worker_agent/keeper/files/run_logs.h"
#include "worker_agent/keeper/processes.h"

namespace muster::agent {

class Keeper {
 public:
  // Forks guardian, keeper and helpers. Must be called while the process has one thread. Also makes the calling process
  // a child subreaper, so that it becomes the parent of the keeper's descendants if the keeper is killed.
  static absl::StatusOr<std::unique_ptr<Keeper>> Spawn(const KeeperOptions& options);

  // Orders the keeper to kill all processes and to end without a last report. Waits for 8 s at most until it has ended.
  // Two cases are left then. If the keeper answers, some process can't be killed. The destructor leaves guardian,
  // keeper and shims running: they go on killing, hold the lock, and end when no process is left; then the keeper sends
  // the last report. If it does not answer, it is killed, and its descendants end as in KillAllDescendants.
  ~Keeper();

  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  // Returns true if the guardian can end the processes at the fence's time even when agent and keeper are gone. Spawn
  // finds this out: it is false if /proc can't be read. The agent sends the answer with its join: the scheduler moves
  // the ranks of a node after the fence's time only if the answer is true.
  bool is_guarded() const;

  // True if the kernel ends all processes with the keeper (KeeperOptions::isolates_pids).
  bool is_isolated() const;

  // Readable when Poll has events to return, or can send bytes for which the keeper's socket had no room before.
  int fd() const;
  int64_t pid() const;

  // Returns the events that have arrived, and checks that the keeper still answers. Must be called at least every
  // kPollInterval. Blocks only when the keeper is lost or given up: for the few seconds that it takes to reap it.
  static constexpr absl::Duration kPollInterval = absl::Seconds(1);
  std::vector<KeeperEvent> Poll();

  // Gives guardian, keeper and shims the lock `fd`. They hold it open until no process that they have started is left.
  // Must be called before the first Start. Error: the lock could not be given to them, so it may become free before the
  // processes have ended.
  absl::Status HoldLock(int fd);

  // Each method from here to WriteFile sends an order to the keeper, which carries the orders out in sequence. None of
  // them blocks: bytes that the socket doesn't take wait for the next Poll. After KeeperLost they do nothing.
  //
  // Once the fence has fallen, the keeper starts nothing until the agent sets or disarms the fence; this counts only
  // after Poll has returned FenceFell. Until then it answers a Start with an Ended (was_stopped), without a Started.
  void Start(const ProcessSpec& spec);
  // Sends stop_signal to every process; when a process has ended, also to the rest of its process group. SIGKILL
  // follows after stop_timeout. Descendants that have left the group are killed as soon as the group is empty. With
  // `interrupt_time`, first sends SIGINT to every process and its group, as a terminal does on Ctrl-C, and stop_signal
  // after that time. SIGKILL still comes when stop_timeout has passed since the call.
  void StopAll(absl::Duration interrupt_time = absl::ZeroDuration());
  void Stop(const ProcessKey& key);
  // Sends SIGKILL to every descendant, also to those that have left their process group, and repeats it until they are
  // gone. Does not kill processes that are started later.
  void KillAll();
  // Sends a signal (SIGUSR1, for example) to each process that was started and has not ended.
  void Forward(int signal);
  // The keeper answers with an OutputRead. No answer comes once the keeper is lost.
  void ReadOutput(const OutputWish& wish);
  // Makes the keeper stop the processes at the time `at` (of Clock::Boot) as StopAll does, unless a later call moves
  // the fence or disarms it (Never()) before. This works even if the agent hangs by then. `counted_from`: when the
  // agent sent the heartbeat that was answered.
  void SetFence(MonotonicTime at, MonotonicTime counted_from = {});
  void SetLastReport(const LastReportCommand& command);

  // Sets the folder for a run's logs: see run_logs.h. Must be called before the run's first log is opened. Failures are
  // reported on stderr.
  void BeginRun(const RunFolder& folder);
  // Writes a file beside the logs, after all log output that was received before, and links it as the logs are linked.
  // Makes the folder, and writes as WriteFileAtomically does. Failures are reported on stderr. The destructor waits for
  // the write for a few seconds.
  void WriteFile(const std::string& path, const std::string& content);

  // Sends SIGKILL to every descendant of the calling process until none is left, and reaps them. The agent calls it
  // after KeeperLost. Blocks for `patience` at most, since a process that hangs in a driver can't be killed. OK: none
  // is left. Otherwise the processes count as alive, and the caller must call it again.
  static absl::Status KillAllDescendants(absl::Duration patience);

  // Makes KillAllDescendants and the destructor spare this child of the agent (the scheduler of --with_scheduler) and
  // its descendants.
  static void Spare(int64_t pid);

 private:
  class Impl;
  explicit Keeper(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::agent
