// Starts and stops the keeper's processes, and reports their ends. Runs in the keeper, in one thread, and never blocks.
//
// A process starts when its old error file is removed and its log is open, or when the file system hasn't answered for
// 5 s: no training waits for a disk that hangs. For the same reason its end is reported when its log is written and its
// error file is read, or one second later without them.
//
// A process's end has two parts. First the process dies, and the report says what it died of. Later it is cleared: none
// of its descendants is left, which the end of its shim shows (shim.h), and devices and ports are free. One report
// (Ended) covers both parts, unless a descendant still exists a moment after SIGKILL. Then Cleared is a second report.
//
// If a shim was killed, its children become children of the keeper: strays. The keeper can't know to which process a
// stray belongs. So it kills all strays. While any is left, no process with a killed shim is cleared.
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

  // The objects that the Supervisor uses. They outlive it.
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
  // Sends SIGINT to all processes and their groups, and stops them after `interrupt_time`. SIGKILL follows when
  // stop_timeout has passed since this call.
  void InterruptAll(absl::Duration interrupt_time);
  // The fence fell at `since`: stops all processes. At `since` + fence_stop_timeout, kills all that were started before
  // this call, because other nodes may run their ranks soon. So if the keeper is late, the processes get less time to
  // stop, or none.
  void FenceFell(MonotonicTime since);
  // Suspends all processes, also those that start later, until Resume is called or the fence falls.
  void Suspend();
  void Resume();
  void Forward(int signal);
  // Returns the last output of the slot's latest process, also when it has ended.
  OutputRead ReadOutput(const OutputWish& wish) const;

  // Sends SIGKILL to all processes that were started so far, and to all their descendants, until they are gone.
  // Processes that are started later are left alone.
  void KillAll();
  // Sends SIGKILL to every descendant until HasChildren returns false. No Start may follow.
  void KillForGood();

  // Must be called after SIGCHLD: reaps all dead children, strays too, and handles their ends.
  void Reap();
  // False when Reap found that no child of any kind is left.
  bool HasChildren() const { return has_children_; }

  // Carries out everything that is due. Must be called in every turn of the loop.
  void RunDeadlines();
  MonotonicTime NextDeadline() const;

 private:
  // A process that waits for its files before it begins.
  struct Waiting {
    ProcessSpec spec;
    uint32_t log = 0;
    int answers_left = 0;
    MonotonicTime begin_at = MonotonicTime::Never();  // when it begins without the missing answers
    std::string error;
  };

  // A process that has died. The report of its death waits for some of its parts (the error file, for example).
  struct Burial {
    Ended ended;
    // Its output was shown live: the user has seen the last lines, but not the device's log.
    bool has_passed_output = false;
    int answers_left = 0;
    MonotonicTime report_at = MonotonicTime::Never();  // when it is reported without the missing answers
  };

  // The data of a slot's last process that ReadOutput needs after its end.
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
    uint64_t number = 0;  // counts the starts
    pid_t pid = 0;        // 0: not reported yet
    std::unique_ptr<ProcessOutput> output;
    MemoryWatch::Mark memory_at_start;
    RuleMatcher::Found reported;       // the findings in its output, as the agent last got them
    MonotonicTime next_output_report;  // the agent gets the next findings no earlier than this
    Ended ended;
    bool has_ended = false;    // the process itself; its descendants may live
    bool is_reported = false;  // its end was reported while descendants were left
    bool is_stop_requested = false;
    bool is_killing = false;                              // its shim has taken the order to kill
    bool is_shim_lost = false;                            // its shim was killed
    MonotonicTime stop_at = MonotonicTime::Never();       // when it is ordered to stop, after an interrupt
    MonotonicTime kill_at = MonotonicTime::Never();       // when its shim is ordered to kill it
    MonotonicTime kill_shim_at = MonotonicTime::Never();  // when its shim is killed if it still exists
    MonotonicTime killed_at = MonotonicTime::Never();     // when SIGKILL was first sent to all that was left of it
    MonotonicTime report_at = MonotonicTime::Never();     // when its end is reported although something is left
    MonotonicTime look_at = MonotonicTime::Never();       // when to look next for processes that can't be killed
    Unkillable unkillable;                                // the last one that was reported; pid 0: none was
    int stop_signal = 0;                                  // the signal that has stopped its shim; 0: none has
    MonotonicTime stopped_at = MonotonicTime::Never();    // when its shim was stopped; Never(): it is not stopped
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
  // SIGKILL follows at `since` + `stop_time`.
  void BeginStop(Process& process, MonotonicTime since, absl::Duration stop_time);
  void StopAllSince(MonotonicTime since, absl::Duration stop_time);
  void Kill(Process& process);
  void KillThrough(uint64_t last_number);
  void ReapShim(pid_t pid, int status);
  void ReapStray(pid_t pid, int status);
  void LoseShim(Process& process, const ExitStatus& exit);
  void LookForStrays();
  void RunStrays(MonotonicTime now);
  void Finish(Process& process);

  // output_reports.cc
  std::unique_ptr<RuleMatcher> NewMatcher();
  void ReportOutput(Process& process, MonotonicTime now);
  void TakeFailingLine(Process& process, MonotonicTime now);
  MonotonicTime NextOutputReport(const Process& process) const;

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
  std::map<ProcessKey, Waiting> waiting_;    // their processes are not started yet
  std::map<ProcessKey, Process> processes_;  // started and not cleared
  std::map<ProcessKey, Burial> burials_;     // dead and not reported; also in processes_ while something is left
  std::map<uint32_t, Remains> remains_;      // by slot
  std::map<pid_t, ProcessKey> shims_;        // the shims that are not reaped
  uint64_t last_number_ = 0;
  Children children_;
  MemoryWatch memory_;
  MatchTime match_time_;
  bool is_suspended_ = false;
  bool has_strays_ = false;
  bool has_said_that_it_cant_look_ = false;
  bool has_said_what_is_left_ = false;
  MonotonicTime strays_at_ = MonotonicTime::Never();
  absl::Duration strays_pause_;
  MonotonicTime fence_;                                   // when the last fence fell
  MonotonicTime fence_kill_at_ = MonotonicTime::Never();  // when the processes that are left must be killed
  uint64_t fence_through_ = 0;  // the number of the last process that was started before the fence fell
  bool has_children_ = false;
};

}  // namespace muster::agent
