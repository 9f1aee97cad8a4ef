// The keeper's processes: starts, stops and buries them. Runs in the keeper, one thread, never blocks.
//
// A process begins when its old error file is removed and its log is open, or when the file system hasn't answered for
// some seconds: nobody's training waits for a disk that hangs. The same holds for its end: it is told when its log is
// written and its error file read, or a second later.
//
// A process counts as ended when its leader (the process that we forked) is reaped and nobody living is left in its
// process group: devices and ports are free then. When the last one has ended, and not all of them well, what they left
// behind outside their groups is killed, too.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "common/unique_fd.h"
#include "worker_agent/keeper/file_helper.h"
#include "worker_agent/keeper/keeper.h"
#include "worker_agent/keeper/output.h"
#include "worker_agent/keeper/poller.h"

namespace muster::agent {

class Supervisor {
 public:
  using Tell = std::function<void(const KeeperEvent&)>;

  // All outlive this.
  struct Sinks {
    LiveOutputs& live;
    FileHelper& logs;
    FileHelper& files;  // for the error files
  };

  // `poller` outlives this. `open_files`: the limit that the processes are to have.
  Supervisor(Poller& poller, Sinks sinks, const KeeperOptions& options, const rlimit& open_files, Tell tell);

  void Start(const ProcessSpec& spec);
  // Answers a Start that must not be carried out any more, as if the process had been stopped at once.
  void Refuse(const ProcessKey& key);
  void Stop(const ProcessKey& key);
  void StopAll();
  // The fence fell at that time (CLOCK_BOOTTIME, ms): what is not gone stop_timeout after it may run elsewhere, so a
  // keeper that comes late leaves that much less time, or none. Then everything is killed, groups or not: one process
  // that hangs in the kernel may not cover for what has left the other groups.
  void FenceFell(int64_t since_ms);
  void Forward(int signal);

  // SIGKILL to every descendant that exists now, groups or not; goes on (RunDeadlines) until they are gone. Processes
  // started later are left alone.
  void KillAll();
  // The same for good: whatever is a descendant, until HasChildren is false. No Start may follow.
  void KillForGood();

  // After SIGCHLD: reaps whoever is dead, adopted orphans too, and does what follows from it.
  void Reap();
  // False when Reap found that no child of any kind is left.
  bool HasChildren() const { return has_children_; }

  // Carries out what is due; to be called in every turn.
  void RunDeadlines();
  int64_t NextDeadline() const;  // CLOCK_BOOTTIME, ms; INT64_MAX: none

 private:
  // Waits for its files before it begins.
  struct Waiting {
    ProcessSpec spec;
    uint32_t log = 0;
    int answers_left = 0;
    int64_t begin_at_ms = INT64_MAX;  // without them
    std::string error;
  };

  // Has ended, but for what is to be told with it.
  struct Burial {
    Ended ended;
    int answers_left = 0;
    int64_t tell_at_ms = INT64_MAX;  // without them
  };

  struct Process {
    ProcessSpec spec;
    uint32_t log = 0;
    pid_t pid = 0;
    uint64_t number = 0;  // of its start
    UniqueFd launch_report;
    std::unique_ptr<ProcessOutput> output;
    Ended ended;
    bool is_leader_reaped = false;
    int64_t kill_at_ms = INT64_MAX;  // SIGKILL to the group
    int64_t look_at_ms = INT64_MAX;  // whether the group is gone
    int64_t look_pause_ms = 0;
  };

  // A kill that goes on until its victims are gone.
  struct Purge {
    uint64_t last_number = 0;  // processes that were started later are spared
    bool is_for_good = false;
    int64_t next_ms = 0;
    int64_t pause_ms = 0;
    int64_t give_up_ms = INT64_MAX;
  };

  void TakeAnswer(const ProcessKey& key, const std::string& error);
  void BeginWaiting(const ProcessKey& key);
  void RefuseWaiting();
  void Bury(Ended ended, const std::string& error_file, std::unique_ptr<ProcessOutput> output);
  void TakeLastAnswer(const ProcessKey& key, const std::string& error_message);
  void RunFileDeadlines(int64_t now_ms);
  void Launch(Process& process);
  void FailLaunch(const Process& process, const std::string& text);
  void FailLaunch(const ProcessKey& key, int exit_code, const std::string& text);
  void ReadReport(Process& process);
  void BeginStop(Process& process, int64_t since_ms);
  void StopAllSince(int64_t since_ms);
  void BeginPurge(bool is_for_good, uint64_t last_number);
  void RunPurge();
  bool KillDescendants();  // of the purge; false: there was none alive
  void BuryLeader(Process& process, int status);
  // Ends every process whose leader is reaped and whose group is gone.
  void LookAtGroups(bool is_timed);
  void Finish(Process& process);
  Process* FindByPid(pid_t pid);

  Poller& poller_;
  const Sinks sinks_;
  const KeeperOptions options_;
  const rlimit open_files_;
  const Tell tell_;
  std::map<ProcessKey, Waiting> waiting_;    // no process yet
  std::map<ProcessKey, Process> processes_;  // started and not ended
  std::map<ProcessKey, Burial> burials_;     // no process any more
  std::map<pid_t, ProcessKey> leaders_;      // not reaped
  uint64_t last_number_ = 0;
  std::unique_ptr<Purge> purge_;
  int64_t purge_at_ms_ = INT64_MAX;  // CLOCK_BOOTTIME; after the fence fell …
  uint64_t purge_through_ = 0;       // … of what was started until then
  bool has_children_ = false;
  bool did_all_end_well_ = true;  // since there was none
};

}  // namespace muster::agent
