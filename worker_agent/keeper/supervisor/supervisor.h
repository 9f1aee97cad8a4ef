// The keeper's processes: starts, stops and buries them. Runs in the keeper, one thread, never blocks.
//
// A process begins when its old error file is removed and its log is open, or when the file system hasn't answered for
// some seconds: no training waits for a disk that hangs. Likewise its end is reported when its log is written and its
// error file read, or a second later.
//
// A process's end has two parts. It has died: that is reported with what it died of. It is cleared: none of its
// descendants is left, as the end of its shim shows (shim.h), and devices and ports are free. Both are one report,
// unless something is still there a moment after SIGKILL. If a shim was killed, its children come to the keeper as
// strays. It can't be known which process they belong to. So they are killed, and until all of them have ended no
// process with a killed shim is cleared.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "worker_agent/keeper/callback_poller.h"
#include "worker_agent/keeper/files/file_helper.h"
#include "worker_agent/keeper/files/output.h"
#include "worker_agent/keeper/process/children.h"
#include "worker_agent/keeper/process/memory_watch.h"
#include "worker_agent/keeper/processes.h"
#include "worker_agent/keeper/shim/shim.h"
#include "worker_agent/launch_error/launch_error.h"

namespace muster::agent {

class Supervisor {
 public:
  using EventSink = std::function<void(const KeeperEvent&)>;

  // All outlive this.
  struct Sinks {
    LiveOutputs& live;
    FileHelper& logs;
    FileHelper& files;  // for the error files
  };

  // `poller` outlives this.
  Supervisor(CallbackPoller& poller, Sinks sinks, const KeeperOptions& options, const ShimOptions& shim_options,
             EventSink report);

  // See Keeper::HoldLock.
  void HoldLock(std::shared_ptr<const UniqueFd> lock) { shim_options_.lock = std::move(lock); }
  void Start(const ProcessSpec& spec);
  // Answers a Start that must not be carried out any more, as if the process had been stopped at once.
  void Refuse(const ProcessKey& key);
  void Stop(const ProcessKey& key);
  void StopAll();
  // Sends SIGINT to all, each with its group, and stops them after `interrupt_time`; the stop's time counts from here.
  void InterruptAll(absl::Duration interrupt_time);
  // The fence fell at that time: processes that are not gone stop_timeout after it may run elsewhere, so a keeper that
  // comes late leaves that much less time, or none. Then everything that was started before is killed.
  void FenceFell(MonotonicTime since);
  // Suspends all processes, those that start meanwhile too, until Resume, or until the fence falls.
  void Suspend();
  void Resume();
  void Forward(int signal);
  // Returns the last output of the slot's latest process, also when it has ended.
  OutputRead ReadOutput(const OutputWish& wish) const;

  // Sends SIGKILL to all that was started until now, with all its descendants, until it is gone. Processes started
  // later are left alone.
  void KillAll();
  // Does the same for good: kills any descendant until HasChildren is false. No Start may follow.
  void KillForGood();

  // To be called after SIGCHLD: reaps the dead children, strays too, and acts on that.
  void Reap();
  // False when Reap found that no child of any kind is left.
  bool HasChildren() const { return has_children_; }

  // Carries out what is due; to be called in every turn.
  void RunDeadlines();
  MonotonicTime NextDeadline() const;

 private:
  // A process that waits for its files before it begins.
  struct Waiting {
    ProcessSpec spec;
    uint32_t log = 0;
    int answers_left = 0;
    MonotonicTime begin_at = MonotonicTime::Never();  // without them
    std::string error;
  };

  // A process that has died, while parts of the report on that have not come yet.
  struct Burial {
    Ended ended;
    bool has_passed_output = false;  // the user has seen the last lines, but not those of the device's log
    int answers_left = 0;
    MonotonicTime report_at = MonotonicTime::Never();  // without them
  };

  // The remains of a slot's process when it has ended, until the next one begins.
  struct Remains {
    ProcessKey key;
    pid_t pid = 0;
    std::string log_file;
    OutputTail tail;
  };

  struct Process {
    ProcessSpec spec;
    uint32_t log = 0;
    std::optional<Shim> shim;
    uint64_t number = 0;  // of its start
    pid_t pid = 0;        // 0: not reported yet
    std::unique_ptr<ProcessOutput> output;
    MemoryWatch::Mark memory_at_start;
    Ended ended;
    bool has_ended = false;    // the process, not all that it left
    bool is_reported = false;  // its end, while something of it is left
    bool is_stop_requested = false;
    bool is_killing = false;                              // its shim has taken the order
    bool is_shim_lost = false;                            // it was killed
    MonotonicTime stop_at = MonotonicTime::Never();       // the order to stop, after an interrupt
    MonotonicTime kill_at = MonotonicTime::Never();       // the order to kill
    MonotonicTime kill_shim_at = MonotonicTime::Never();  // it takes no orders, or can't carry them out
    MonotonicTime killed_at = MonotonicTime::Never();     // SIGKILL has gone to all that is left
    MonotonicTime report_at = MonotonicTime::Never();     // its end, although something is left
    MonotonicTime look_at = MonotonicTime::Never();       // for what can't be killed
    Unkillable unkillable;                                // as reported last; pid 0: nothing
    int stop_signal = 0;                                  // its shim was stopped by it …
    MonotonicTime stopped_at = MonotonicTime::Never();    // … then; never: it is not stopped
  };

  void TakeAnswer(const ProcessKey& key, const std::string& error);
  void BeginWaiting(const ProcessKey& key);
  void RefuseWaiting();
  Burial& Bury(const Process& process);
  void TakeDeviceLog(const ProcessKey& key, const std::string& text);
  void TakeLastAnswer(const ProcessKey& key, const std::string& error_message);
  void RunFileDeadlines(MonotonicTime now);
  void Launch(Process& process);
  void FailLaunch(const Process& process, const LaunchError& error);
  void FailLaunch(const ProcessKey& key, const LaunchError& error);
  void TakeReports(Process& process);
  void TakeReport(Process& process, const ShimReport& report);
  void TakeWaitStatus(Process& process, int status, MonotonicTime at);
  void BeginStop(Process& process, MonotonicTime since);
  void StopAllSince(MonotonicTime since);
  void Kill(Process& process);
  void KillThrough(uint64_t last_number);
  void ReapShim(pid_t pid, int status);
  void ReapStray(pid_t pid, int status);
  void LoseShim(Process& process, const ExitStatus& exit);
  void LookForStrays();
  void RunStrays(MonotonicTime now);
  void Finish(Process& process);

  // leftovers.cc
  void SayCantLook(const std::string& what, const char* why);
  void SayWhatIsLeft(const Process& process, const ShimReport& report);
  void NoteKilled(Process& process);
  void ReportEarly(Process& process);
  void LookForUnkillable(Process& process, MonotonicTime now);
  void TakeStops();
  void EndStoppedShim(Process& process);
  void RunLeftoverDeadlines(Process& process, MonotonicTime now);
  MonotonicTime NextLeftoverDeadline(const Process& process) const;

  CallbackPoller& poller_;
  const Sinks sinks_;
  const KeeperOptions options_;
  ShimOptions shim_options_;
  const EventSink report_;
  std::map<ProcessKey, Waiting> waiting_;    // no process yet
  std::map<ProcessKey, Process> processes_;  // started and not cleared
  std::map<ProcessKey, Burial> burials_;     // has died; processes_ has it, too, while something is left
  std::map<uint32_t, Remains> remains_;      // by slot
  std::map<pid_t, ProcessKey> shims_;        // not reaped
  uint64_t last_number_ = 0;
  Children children_;
  MemoryWatch memory_;
  bool is_suspended_ = false;
  bool has_strays_ = false;
  bool has_said_that_it_cant_look_ = false;
  bool has_said_what_is_left_ = false;
  MonotonicTime strays_at_ = MonotonicTime::Never();
  absl::Duration strays_pause_;
  MonotonicTime fence_;                                   // the last one that fell …
  MonotonicTime fence_kill_at_ = MonotonicTime::Never();  // … what has to be killed when …
  uint64_t fence_through_ = 0;                            // … of what was started until then
  bool has_children_ = false;
};

}  // namespace muster::agent
