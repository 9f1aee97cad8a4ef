// The messages between agent and keeper: the processes to run, and what becomes of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/unique_fd.h"
#include "worker_agent/core/process_end.h"
#include "worker_agent/core/process_key.h"
#include "worker_agent/keeper/process_mark.h"
#include "worker_agent/output_rules/output_rules.h"

namespace muster::agent {

// A secret for a process, which reads it from a descriptor that it inherits (see common/sys/secret_descriptor.h). The
// keeper and its shims pass on the descriptor and never have the secret in their memory.
struct HandOver {
  std::string variable;  // the environment variable with the descriptor's number; empty: there is no secret
  // Shared, since specs are copied. Null if it was lost on the way, because the keeper had too many open files.
  std::shared_ptr<const UniqueFd> descriptor;
};

struct ProcessSpec {
  ProcessKey key;
  std::vector<std::string> argv;  // argv[0] is searched in the PATH of env
  std::vector<std::string> env;   // NAME=VALUE, the whole environment
  std::string working_directory;  // empty: the agent's
  std::string log_path;           // appended to, created with its folder; empty: none
  bool passes_output = false;     // bytes go on unchanged to the agent's own stdout and stderr
  std::string prefix;  // shown before each output line on stdout; empty: no line is shown. Not used with passes_output
  bool inherits_stdin = false;  // false: stdin is /dev/null
  std::vector<int> cpus;        // CPU affinity; empty: inherited
  std::string error_file;       // TORCHELASTIC_ERROR_FILE: removed before the start, read after the end; empty: none
  HandOver hand_over = {};
  // stands_for_all: this is the one process for all slots of the node (--per_node, --per_job). waits_for_background:
  // after the process has ended with 0, the shim waits for the background jobs that it has left.
  bool stands_for_all = false;
  bool waits_for_background = false;
  std::string device_logs = {};  // folder of its device's logs, which are read when it fails; empty: none
};

struct Started {
  ProcessKey key;
  int64_t pid = 0;
};

// The process has died. Comes exactly once for each spec.
struct Ended {
  ProcessKey key;
  ProcessEnd end;          // its texts are within kMaxErrorMessageBytes and kMaxLastLines
  MonotonicTime ended_at;  // of Clock::Boot
  // Descendants of the process may still exist, although they were sent SIGKILL. Cleared follows when none is left;
  // until then nothing may start in the process's place.
  bool is_anything_left = false;
};

// Follows an Ended with is_anything_left: now no descendant of the process is left.
struct Cleared {
  ProcessKey key;
};

// The process of `key`, or a descendant of it, still exists some seconds after SIGKILL: it hangs in the kernel, or a
// tracer such as a debugger stops it. Comes again when another such process is found, or the same one in another state.
struct Unkillable {
  ProcessKey key;
  int64_t pid = 0;
  std::string name;     // as ShownName returns it
  std::string state;    // a letter of proc(5), "D" for example
  MonotonicTime since;  // when the first SIGKILL was sent, by Clock::Boot
};

// The fence's deadline has passed, and the keeper is stopping the processes.
struct FenceFell {};

// The wall clock has jumped forward by `jump_ms` while the fence was armed: this machine may have stood still (as a
// paused virtual machine does), and other nodes may have its ranks by now. The keeper has suspended the processes. They
// go on when the agent sets a fence that counts from a heartbeat sent after the jump. If none is set within
// kClockDoubt, the keeper kills them.
struct ClockJumped {
  int64_t jump_ms = 0;
};
inline constexpr absl::Duration kClockDoubt = absl::Seconds(2);

// The answer to a ping. Keeper::Poll takes it and does not return it.
struct Pong {};

// The findings of the rules of --expect in a running process's output. Comes when something has changed, at most
// every kOutputReportInterval.
struct OutputSeen {
  ProcessKey key;
  uint64_t changes = 0;
  uint64_t unseen = 0;
  bool has_step = false;
  uint64_t step = 0;
  std::string format;
};
inline constexpr absl::Duration kOutputReportInterval = absl::Milliseconds(500);

// A request for lines of a slot's output. `query` and `asked_on` come back with the answer.
struct OutputWish {
  uint64_t query = 0;
  uint64_t asked_on = 0;
  uint32_t slot = 0;
  uint32_t lines = 0;  // at most
  ProcessKey known;    // the asker has a part of this process's output already
  uint64_t after = 0;  // the output of `known` that the asker has ends at this byte
};

// The answer to an OutputWish: the output of the slot's latest process, as in OutputPart (output_tail.h).
struct OutputRead {
  uint64_t query = 0;
  uint64_t asked_on = 0;
  bool is_found = false;  // false: the slot had no process
  ProcessKey key;
  int64_t pid = 0;
  bool has_ended = false;
  std::string text;
  std::string unfinished;
  uint64_t end = 0;
  bool has_gap = false;
  std::string log_file;
};

// The keeper has died or has closed its end, or was given up because it does not answer. The agent must call
// KillAllDescendants next, to end all processes that the keeper had started.
struct KeeperLost {};

// The keeper has answered no ping for some seconds: it was stopped (SIGSTOP), or the machine is overloaded. Comes once;
// KeeperAnswers follows when the keeper answers again.
struct KeeperSilent {};
struct KeeperAnswers {};

using KeeperEvent = std::variant<Started, Ended, Cleared, Unkillable, FenceFell, Pong, OutputRead, KeeperLost,
                                 KeeperSilent, KeeperAnswers, ClockJumped, OutputSeen>;

struct KeeperOptions {
  int stop_signal = 15;
  absl::Duration stop_timeout = absl::Seconds(30);       // between stop_signal and SIGKILL
  absl::Duration fence_stop_timeout = absl::Seconds(5);  // the same when the fence falls
  std::optional<ProcessMark> mark = {};                  // set on all processes; none: the system allows no mark
  bool isolates_pids = false;                            // see pid_namespace.h
  std::shared_ptr<const OutputRules> rules = {};         // for the output of all processes; null: none
  // The time after SIGKILL until a process that still exists is reported as Unkillable. Also the time until a stopped
  // shim is killed.
  absl::Duration leftovers_patience = absl::Seconds(5);
};

// The command that the keeper runs when the agent has died and all processes are gone. The keeper kills it after 10 s.
// In argv, {signal} and {exit_code} are replaced by the signal and the exit code with which the agent ended, or both by
// 0 where these are not known (see agent_watch.h). The command's standard streams are /dev/null.
struct LastReportCommand {
  std::vector<std::string> argv;
  std::vector<std::string> env;
  HandOver hand_over = {};
};

}  // namespace muster::agent
