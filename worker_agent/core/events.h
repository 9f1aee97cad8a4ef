// The inputs and outputs of the agent's core: events and effects. See scheduler/core/state/events.h for the idea.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/severity.h"
#include "muster/v1/rendezvous.pb.h"
#include "worker_agent/core/process_end.h"
#include "worker_agent/core/process_key.h"

namespace muster::agent {

// ---------------------------------------------------------------------------------------------------------- events

struct Begin {};

// True if this version knows the value. An unknown one comes from a newer scheduler, and changes nothing here.
inline bool IsKnown(v1::RunPhase phase) { return v1::RunPhase_IsValid(phase) && phase != v1::RUN_PHASE_UNSPECIFIED; }
inline bool IsKnown(v1::Refusal::Reason reason) {
  return v1::Refusal::Reason_IsValid(reason) && reason != v1::Refusal::REASON_UNSPECIFIED;
}

// `connect_seq` names the Dial that a message or a break belongs to; those of an older dial are ignored.
struct MessageReceived {
  uint64_t connect_seq = 0;
  v1::SchedulerMessage message;
};

// The answer to a SendHeartbeat, by datagram.
struct HeartbeatAnswered {
  uint64_t connect_seq = 0;
  v1::Acknowledgement acknowledgement;
};

// The kernel has connected this dial, but the scheduler has not taken it yet, or only now: it has others before it.
// Comes again while that lasts.
struct DialWaits {
  uint64_t connect_seq = 0;
};

// The reason why a stream ended or was never opened, as far as a decision depends on it.
enum class BreakReason {
  kConnection,  // no answer, or the other end closed. Also a refused connect: it looks the same from here whether the
                // machine is down or something on the way cuts this node off
  kSecurity,    // TLS or identity
};

struct StreamBroken {
  uint64_t connect_seq = 0;
  std::string text;  // for people
  BreakReason reason = BreakReason::kConnection;
};

// Answer to FetchPeers; an empty list with an error when it failed.
struct PeersFetched {
  uint32_t round = 0;
  absl::Status status;
  std::shared_ptr<const std::string> peer_list;
};

struct ProcessHasStarted {
  ProcessKey key;
  uint64_t pid = 0;
};

struct ProcessHasEnded {
  ProcessKey key;
  ProcessEnd end;
  absl::Duration age;  // how long ago
  // Processes that it started may be left, although they were sent SIGKILL: NothingLeft follows. Until then nothing
  // starts in its place, and the node doesn't report that its processes have ended.
  bool leaves_some = false;
};

struct NothingLeft {
  ProcessKey key;
};

// This process was sent SIGKILL some seconds ago and is still there: the slot's own, or one that it left.
struct ProcessIsStuck {
  ProcessKey key;
  uint64_t pid = 0;
  std::string name;    // at most 64 bytes, clean text
  std::string state;   // as in proc(5)
  absl::Duration age;  // of the first SIGKILL
};

struct FenceHasFallen {};

// The wall clock has jumped forward while the fence was armed: the keeper has suspended the processes, and waits for an
// answer to a heartbeat that is sent from now on.
struct ClockHasJumped {
  absl::Duration jump;
};

// The keeper died; all processes have been killed. Comes again when nothing is left that was left the first time.
struct KeeperDied {
  bool leaves_some = false;  // as for ProcessHasEnded
};

// The scheduler that this agent has started has ended too early, and its memory of the job with it.
struct OwnSchedulerLost {
  std::string how;             // "was killed by SIGKILL (pid 12)"
  bool has_whole_job = false;  // there is no other node
};

// A signal that ends the agent: SIGINT, SIGTERM, SIGHUP, SIGQUIT. The second one kills at once.
struct EndSignal {
  int signal = 0;
};

// Preparing a round's processes failed (a folder that can't be written, …).
struct LaunchFailed {
  uint32_t round = 0;
  std::vector<uint32_t> slots = {};  // of the Launch; others of the round may be on their way
  std::string text;
  std::string reason = {};  // one of common/base/reason.h's
  std::string remedy = {};  // {host}: the name of this machine
  int exit_code = 126;
};

// A running process has made a step, as far as its MS_PROGRESS_FILE shows (see runtime/progress_reader.h).
struct ProgressMade {
  uint32_t round = 0;
  uint32_t slot = 0;
  uint32_t attempt = 0;
  std::optional<uint64_t> step;  // none: it only touches the file
};

// Answer to GatherStacks: one for each process named there, within the limits of an answer.
struct StacksGathered {
  uint64_t query = 0;
  std::vector<v1::SlotStack> stacks;
};

// Remote commands to report. At most kMaxCommandsWaiting of them wait for their acknowledgement.
struct CommandsReported {
  v1::RemoteCommands commands;
};

// Answer to ReadLog.
struct LogRead {
  uint64_t query = 0;
  uint64_t asked_on = 0;
  v1::SlotLog log;
};

// Our certificate or the CAs that we trust have changed. Dials that begin later use them, and the keeper needs them for
// its last report. An open connection goes on, but a new certificate needs a new connection in its place: before the
// old certificate ends or is revoked, and so that the scheduler sends the new one to the peers.
struct TlsChanged {
  bool has_new_certificate = false;
};

struct Tick {};

using Event = std::variant<Begin, MessageReceived, HeartbeatAnswered, DialWaits, StreamBroken, PeersFetched,
                           ProcessHasStarted, ProcessHasEnded, NothingLeft, ProcessIsStuck, FenceHasFallen,
                           ClockHasJumped, KeeperDied, OwnSchedulerLost, EndSignal, LaunchFailed, ProgressMade,
                           StacksGathered, LogRead, CommandsReported, TlsChanged, Tick>;

// --------------------------------------------------------------------------------------------------------- effects

// Open a stream; what was open before is to be dropped, unless the new one is a replacement: then both are open until
// one of them is hung up.
struct Dial {
  uint64_t connect_seq = 0;
  bool is_replacement = false;
};

struct Send {
  uint64_t connect_seq = 0;
  v1::AgentMessage message;
};

// A heartbeat without news, by datagram: see v1::DatagramOffer. It may be lost.
struct SendHeartbeat {
  uint64_t connect_seq = 0;
  uint64_t heartbeat_seq = 0;
  uint32_t armed_fence_ms = 0;
};

struct HangUp {
  uint64_t connect_seq = 0;  // of the stream; 0: the one that is open
};

struct FetchPeers {
  uint64_t run = 0;
  uint32_t round = 0;
  std::string digest;        // SHA-256 that the list must have; the code that fetches it checks that
  uint64_t connect_seq = 0;  // the stream over which to fetch it
};

// Start the processes of the slots that should run. `peer_list` is null beyond kMaxRanksInClusterFile, unless
// the options want it.
struct Launch {
  v1::DesiredState desired;
  std::shared_ptr<const std::string> peer_list;
  std::vector<uint32_t> slots;  // the slots to start
};

struct StopProcesses {
  absl::Duration interrupt_time;  // between SIGINT and stop_signal; 0: without SIGINT
};
struct KillProcesses {};

// Print the assignment as JSON (an agent without a command).
struct PrintAssignment {
  v1::DesiredState desired;
  std::shared_ptr<const std::string> peer_list;
};

// Arm the keeper's fence for `deadline`, or disarm it.
struct SetFence {
  bool is_armed = false;
  MonotonicTime deadline;
  MonotonicTime counted_from;  // when the heartbeat was sent that was acknowledged
};

// The node and run for which the keeper sends the last report: set after each welcome.
struct SetLastReport {
  v1::LastReportRequest last_report;
  int64_t run_opened_unix_ms = 0;  // names the run's log folder on all nodes
};

// Find out where these processes stand. The answer comes as StacksGathered; only then is there a next one.
struct GatherStacks {
  struct Process {
    uint32_t slot = 0;
    uint64_t pid = 0;  // 0: no process runs
  };
  uint64_t query = 0;
  std::vector<Process> processes;  // at most kMaxStackRanks
};

// Read what the slot's latest process wrote last. The answer comes as LogRead, with query and asked_on as they are
// here.
struct ReadLog {
  uint64_t query = 0;
  uint64_t asked_on = 0;  // connect_seq
  uint32_t slot = 0;
  uint32_t lines = 0;
  ProcessKey known;    // its output is known up to …
  uint64_t after = 0;  // … here
};

// A line for the terminal or log. With `is_progress` it may be shown live (rewritten in place on a terminal) and is
// only logged at growing intervals.
struct Say {
  Severity severity = Severity::kInfo;
  std::string text;
  bool is_progress = false;
};

// The run is over for this agent: write failure.json if there is a cause, and end with `exit_code`.
struct Finish {
  int exit_code = 0;
  v1::Outcome outcome;
  bool leaves_some = false;  // something can't be killed, and is not waited for
};

using Effect = std::variant<Dial, Send, SendHeartbeat, HangUp, FetchPeers, Launch, StopProcesses, KillProcesses,
                            PrintAssignment, SetFence, SetLastReport, GatherStacks, ReadLog, Say, Finish>;
using Effects = std::vector<Effect>;

}  // namespace muster::agent
