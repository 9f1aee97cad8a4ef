// The keeper: the small single-threaded process beside each agent that starts, watches and ends the training processes.
//
// It touches no file that a user names: a file system that hangs would hang it, and with it the watch over the
// processes and the fence. Helpers, processes as well, do that in its place (file_helper.h); also for a stdout or
// stderr that is a file. Processes rather than threads: nothing can end a process of which one thread hangs in a file
// system.
//
// Forked before any thread exists (before gRPC starts). Own session, named ms-keeper, child subreaper, so that every
// descendant of a training process stays within its reach. It drains the processes' output into log files and the
// terminal, keeps the last lines, and, when the agent dies, kills every descendant and runs the last-report command.
// PR_SET_PDEATHSIG alone would not do (it fires when the forking *thread* ends, a change of uid clears it,
// grandchildren never have it).
//
// Nothing may outlive its fence, whichever of these processes is killed. So they form a chain, each the child subreaper
// of those below it: agent, guardian (guardian.h), keeper, one shim for each process (shim.h), process. If any three of
// them are killed at once, the fourth ends what is left.
//
// This header is the agent's side. A Keeper object is owned by one thread (the agent's loop).
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
  // Forks. Must be called while the process has one thread. The calling process becomes a child subreaper as well, so
  // that descendants come to it if the keeper is killed.
  static absl::StatusOr<std::unique_ptr<Keeper>> Spawn(const KeeperOptions& options);

  // Orders the keeper to end all processes by SIGKILL and to end without a last report, waits until it has (at most 8
  // s). If it hasn't, but still works, something can't be killed: then it is left alone. Guardian, keeper and shims go
  // on killing, hold the lock, and end when nothing is left; the keeper then sends the last report. A keeper that
  // doesn't work is killed, and its descendants end as in KillAllDescendants.
  ~Keeper();

  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  // True if the fence ends the processes also when this agent and its keeper are gone, as Spawn found: false where
  // /proc can't be read. The agent promises it at the join: the ranks of a node without it don't move by time alone.
  bool is_guarded() const;

  // True if the kernel ends all processes with the keeper (KeeperOptions::isolates_pids).
  bool is_isolated() const;

  // Readable when Poll has something to take, or to send on that the keeper's socket had no room for.
  int fd() const;
  int64_t pid() const;

  // Takes what has come, and checks that the keeper still answers: to be called at least every kPollInterval. Doesn't
  // block, except for the few seconds in which a keeper that is lost or given up is reaped.
  static constexpr absl::Duration kPollInterval = absl::Seconds(1);
  std::vector<KeeperEvent> Poll();

  // A lock that guardian, keeper and shims hold open, too, until nothing is left that they have started. To be called
  // before the first Start. Error: it could not be handed over, so that it may be free before they have ended.
  absl::Status HoldLock(int fd);

  // Each of these sends a message to the keeper. It carries them out in order, and they never block (what the socket
  // doesn't take waits for the next Poll). After KeeperLost they do nothing.
  //
  // Once the fence has fallen nothing starts until it is set again, or disarmed, after FenceFell was polled: a Start is
  // answered by an Ended with was_stopped and no Started.
  void Start(const ProcessSpec& spec);
  // Sends stop_signal to every process; once they are gone, to what is left of their groups. SIGKILL follows after
  // stop_timeout; processes that have left the groups are killed when the groups are empty. With `interrupt_time`
  // SIGINT goes first to every process and its group, as from a terminal on Ctrl-C, and stop_signal after that time;
  // SIGKILL comes no later for it.
  void StopAll(absl::Duration interrupt_time = absl::ZeroDuration());
  void Stop(const ProcessKey& key);
  // Sends SIGKILL to every descendant, also those that left their process group, now and until they are gone. Processes
  // that are started later are left alone.
  void KillAll();
  // Sends a signal (SIGUSR1, for example) to each process that was started and has not ended.
  void Forward(int signal);
  // Answered by an OutputRead; not at all once the keeper is lost.
  void ReadOutput(const OutputWish& wish);
  // From `at` (of Clock::Boot) on the processes are stopped as by StopAll unless the fence is set again or disarmed
  // (never) before. Works also while the agent hangs.
  void SetFence(MonotonicTime at, MonotonicTime counted_from = {});
  void SetLastReport(const LastReportCommand& command);

  // The folder of a run, for its logs: see run_logs.h. To be called before the first of them. Failures are reported on
  // stderr.
  void BeginRun(const RunFolder& folder);
  // Writes a file beside the logs, in this order with them, linked as they are. The folder is made, the file is written
  // as by WriteFileAtomically, and failures are reported on stderr. The destructor waits for it for a few seconds.
  void WriteFile(const std::string& path, const std::string& content);

  // Sends SIGKILL to every descendant of the calling process until none is left; reaps them. For the agent, after
  // KeeperLost. Blocks; gives up after `patience` (a process that hangs in a driver can't be killed). OK when none is
  // left; else the processes count as alive, and it is to be called again.
  static absl::Status KillAllDescendants(absl::Duration patience);

  // A child of the agent's own (the scheduler of --with_scheduler) that KillAllDescendants and the destructor leave
  // alone, with what descends from it.
  static void Spare(int64_t pid);

 private:
  class Impl;
  explicit Keeper(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::agent
