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

namespace muster::agent {

// A secret for a process, which it inherits behind a descriptor (see common/sys/secret_descriptor.h). The keeper and
// its shims pass on the descriptor and never have the bytes in their memory.
struct HandOver {
  std::string variable;  // of its environment, where the descriptor's number stands; empty: nothing is handed over
  std::shared_ptr<const UniqueFd> descriptor;  // shared, since specs are copied; null only where it was lost on the way
};

struct ProcessSpec {
  ProcessKey key;
  std::vector<std::string> argv;  // argv[0] is searched in the PATH of env
  std::vector<std::string> env;   // NAME=VALUE, the whole environment
  std::string working_directory;  // empty: the agent's
  std::string log_path;           // appended to, created with its folder; empty: none
  bool passes_output = false;     // bytes go on unchanged to the agent's own stdout and stderr
  std::string prefix;             // if not empty (and passes_output is not set), lines go to stdout with it
  bool inherits_stdin = false;    // else /dev/null
  std::vector<int> cpus;          // CPU affinity; empty: inherited
  std::string error_file;         // TORCHELASTIC_ERROR_FILE: read (and removed before the start); empty: none
  HandOver hand_over = {};
  // It stands for all slots. After it has ended with 0, the background processes that it left are waited for.
  bool stands_for_all = false;
  bool waits_for_background = false;
  std::string device_logs = {};  // folder of its device's logs, looked at when it fails; empty: none
};

struct Started {
  ProcessKey key;
  int64_t pid = 0;
};

// Once for each spec: the process has died.
struct Ended {
  ProcessKey key;
  ProcessEnd end;          // at most kMaxErrorMessageBytes and kMaxLastLines
  MonotonicTime ended_at;  // of Clock::Boot
  // Descendants of it may be left, which have been sent SIGKILL: Cleared follows. Until then nothing may take the
  // process's place.
  bool is_anything_left = false;
};

// After an Ended that left something: nothing is left now.
struct Cleared {
  ProcessKey key;
};

// A process of `key`, its own or a descendant, is still there some seconds after SIGKILL: it hangs in the kernel, or a
// tracer holds it. Comes again when another process is found, or another state.
struct Unkillable {
  ProcessKey key;
  int64_t pid = 0;
  std::string name;     // as ShownName
  std::string state;    // as in proc(5): "D"
  MonotonicTime since;  // of Clock::Boot: the first SIGKILL
};

// The fence's deadline passed: the processes are being stopped.
struct FenceFell {};

// The wall clock has jumped forward by that much while the fence was armed: this machine may have stood still, and
// others may have its ranks by now. The processes are suspended until a fence is set that counts from a heartbeat sent
// after this, and killed when none is within kClockDoubt.
struct ClockJumped {
  int64_t jump_ms = 0;
};
inline constexpr absl::Duration kClockDoubt = absl::Seconds(2);

// The answer to a ping; Poll keeps it to itself.
struct Pong {};

// A request for lines of a slot's output. `query` and `asked_on` come back with the answer.
struct OutputWish {
  uint64_t query = 0;
  uint64_t asked_on = 0;
  uint32_t slot = 0;
  uint32_t lines = 0;  // at most
  ProcessKey known;    // its output is known up to …
  uint64_t after = 0;  // … here
};

// The answer, of the slot's latest process.
struct OutputRead {
  uint64_t query = 0;
  uint64_t asked_on = 0;
  bool is_found = false;  // false: the slot had none
  ProcessKey key;
  int64_t pid = 0;
  bool has_ended = false;
  std::string text;
  std::string unfinished;
  uint64_t end = 0;
  bool has_gap = false;
  std::string log_file;
};

// The keeper itself has died or closed its end, or was given up. Everything it had started is to be treated as ended by
// KillAllDescendants, which the agent calls next.
struct KeeperLost {};

// The keeper has answered no ping for some seconds: it is stopped, or the machine leaves it no time. Sent once;
// KeeperAnswers follows when it answers.
struct KeeperSilent {};
struct KeeperAnswers {};

using KeeperEvent = std::variant<Started, Ended, Cleared, Unkillable, FenceFell, Pong, OutputRead, KeeperLost,
                                 KeeperSilent, KeeperAnswers, ClockJumped>;

struct KeeperOptions {
  int stop_signal = 15;
  absl::Duration stop_timeout = absl::Seconds(30);  // between stop_signal and SIGKILL
  std::optional<ProcessMark> mark = {};             // of all processes; none: the system allows none
  bool isolates_pids = false;                       // see pid_namespace.h
  // The time from SIGKILL until a process that is still there is named, and until a stopped shim is ended.
  absl::Duration leftovers_patience = absl::Seconds(5);
};

// The command that the keeper runs when the agent has died and all processes are gone: `argv` with `env`, killed after
// 10 s. The placeholders {signal} and {exit_code} in argv become those of the agent's death; both are 0 where that is
// not known (see agent_watch.h). Its standard streams are /dev/null.
struct LastReportCommand {
  std::vector<std::string> argv;
  std::vector<std::string> env;
  HandOver hand_over = {};
};

}  // namespace muster::agent
