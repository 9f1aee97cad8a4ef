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

// Returns true if this version knows the value. An unknown one comes from a newer scheduler: an order with an unknown
// phase is ignored, and after a refusal for an unknown reason the agent tries again.
inline bool IsKnown(v1::RunPhase phase) { return v1::RunPhase_IsValid(phase) && phase != v1::RUN_PHASE_UNSPECIFIED; }
inline bool IsKnown(v1::Refusal::Reason reason) {
  return v1::Refusal::Reason_IsValid(reason) && reason != v1::Refusal::REASON_UNSPECIFIED;
}

// `connect_seq` names the Dial to which the event belongs, here and in other events. Events of an older dial are
// ignored.
struct MessageReceived {
  uint64_t connect_seq = 0;
  v1::SchedulerMessage message;
};

// The answer to a SendHeartbeat has come, as a datagram.
struct HeartbeatAnswered {
  uint64_t connect_seq = 0;
  v1::Acknowledgement acknowledgement;
};

// The kernel has connected this dial, but the scheduler has not answered: it serves other connections first. Comes
// again while that lasts, and once more when the scheduler has accepted the dial.
struct DialWaits {
  uint64_t connect_seq = 0;
};

// The reason why a stream ended or was never opened. Each kind leads to a different decision of the core.
enum class BreakReason {
  kConnection,  // no answer, a refused connect, or the other end closed: the agent can't know whether the scheduler's
                // machine is down or the network is cut
  kSecurity,    // TLS or identity
};

struct StreamBroken {
  uint64_t connect_seq = 0;
  std::string text;  // for people
  BreakReason reason = BreakReason::kConnection;
};

// The answer to FetchPeers. If it failed, `status` is the error and `peer_list` is null.
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
  absl::Duration age;  // the time since its end
  // Descendants of the process may still exist, although they were sent SIGKILL. NothingLeft follows when none is left.
  // Until then nothing starts in its place, and the node doesn't report that its processes have ended.
  bool leaves_some = false;
};

struct NothingLeft {
  ProcessKey key;
};

// This process was sent SIGKILL some seconds ago and still exists. It is the slot's own process, or a descendant of it.
struct ProcessIsStuck {
  ProcessKey key;
  uint64_t pid = 0;
  std::string name;    // at most 64 bytes, clean text
  std::string state;   // as in proc(5)
  absl::Duration age;  // the time since the first SIGKILL
};

struct FenceHasFallen {};

// The wall clock has jumped forward while the fence was armed. The keeper has suspended the processes until the
// scheduler answers a heartbeat that is sent from now on.
struct ClockHasJumped {
  absl::Duration jump;
};

// The keeper died, and all processes have been sent SIGKILL. If `leaves_some` is true, the event comes again, with
// false, when nothing is left.
struct KeeperDied {
  bool leaves_some = false;  // some processes may still exist, as in ProcessHasEnded
};

// The scheduler that this agent has started has ended before the job, and its record of the job is lost.
struct OwnSchedulerLost {
  std::string how;             // "was killed by SIGKILL (pid 12)"
  bool has_whole_job = false;  // the job has no other node
};

// A signal that ends the agent: SIGINT, SIGTERM, SIGHUP, SIGQUIT. A second one kills the processes at once.
struct EndSignal {
  int signal = 0;
};

// Preparing a round's processes failed (a folder that can't be written, …).
struct LaunchFailed {
  uint32_t round = 0;
  std::vector<uint32_t> slots = {};  // those of the Launch; other slots of the round may be starting
  std::string text;
  std::string reason = {};  // a word of common/base/reason.h
  std::string remedy = {};  // {host}: the name of this machine
  int exit_code = 126;
};

// A running process has made a step, as far as its MS_PROGRESS_FILE shows (see runtime/progress_reader.h).
struct ProgressMade {
  ProcessKey key;
  std::optional<uint64_t> step;  // none: it only touches the file
};

// Rules of --expect or --fail_on have seen something in a running process's output (see output_rules/rule_matcher.h).
// The numbers count from the process's start.
struct OutputMatched {
  ProcessKey key;
  uint64_t changes = 0;          // matches that are progress
  uint64_t unseen = 0;           // lines that were not matched
  bool is_shared = false;        // another slot has the process, too, and reports those lines
  std::optional<uint64_t> step;  // none: no rule has a number, or the last number was no whole one
};

// The kernel does not let a running process run, or lets it again (see runtime/halt_watch.h).
struct ProcessHalted {
  ProcessKey key;
  bool is_over = false;  // it runs again; the rest is not set
  uint64_t pid = 0;      // of the halted process: the slot's own, or one that it has started
  std::string name;      // at most kMaxStuckNameBytes
  std::string state;     // "T" or "D", as in proc(5)
  std::string waits_in;  // the kernel's function; empty: not known
  MonotonicTime since;
};

// The activity of a running process; see runtime/activity_watch.h.
struct ActivitySeen {
  ProcessKey key;
  MonotonicTime last_output;  // or its start
  bool has_output = false;
  std::optional<uint32_t> cpu_percent;
  char state = 0;  // as in proc(5); 0: not known
};

// The answer to GatherStacks: one stack for each of its processes, within the limits of an answer.
struct StacksGathered {
  uint64_t query = 0;
  std::vector<v1::SlotStack> stacks;
};

// Commands that others ran on this node, or that it refused, to be reported to the scheduler. If kMaxCommandsWaiting of
// them wait for an acknowledgement, this one is dropped.
struct CommandsReported {
  v1::RemoteCommands commands;
};

// The answer to ReadLog.
struct LogRead {
  uint64_t query = 0;
  uint64_t asked_on = 0;
  v1::SlotLog log;
};

// The answer to CheckNode.
struct NodeChecked {
  absl::Status status;  // an error: why this node is not fit
};

// Our certificate or the CAs that we trust have changed. Dials that begin later use them, and the keeper needs them for
// its last report. An open connection goes on. But if our certificate is new, a new connection must replace the open
// one before the old certificate ends or is revoked. The scheduler also sends the new certificate to the peers then.
struct TlsChanged {
  bool has_new_certificate = false;
};

struct Tick {};

using Event =
    std::variant<Begin, MessageReceived, HeartbeatAnswered, DialWaits, StreamBroken, PeersFetched, ProcessHasStarted,
                 ProcessHasEnded, NothingLeft, ProcessIsStuck, FenceHasFallen, ClockHasJumped, KeeperDied,
                 OwnSchedulerLost, EndSignal, LaunchFailed, ProgressMade, OutputMatched, ActivitySeen, ProcessHalted,
                 StacksGathered, LogRead, CommandsReported, NodeChecked, TlsChanged, Tick>;

// --------------------------------------------------------------------------------------------------------- effects

// Open a stream. Drop the streams that were open before, unless the new one is a replacement: then both stay open until
// a HangUp ends one of them.
struct Dial {
  uint64_t connect_seq = 0;
  bool is_replacement = false;
};

struct Send {
  uint64_t connect_seq = 0;
  v1::AgentMessage message;
};

// Send a heartbeat without news, as a datagram: see v1::DatagramOffer. It may be lost.
struct SendHeartbeat {
  uint64_t connect_seq = 0;
  uint64_t heartbeat_seq = 0;
  uint32_t armed_fence_ms = 0;
  std::string progress = {};  // as in HeartbeatDatagram
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

// Start the processes of these slots. `peer_list` is null if the round has more than kMaxRanksInClusterFile ranks,
// except where the whole list is needed (NeedsPeers in converging.cc).
struct Launch {
  v1::DesiredState desired;
  std::shared_ptr<const std::string> peer_list;
  std::vector<uint32_t> slots;  // the slots to start
};

struct StopProcesses {
  absl::Duration interrupt_time;  // between SIGINT and stop_signal; 0: without SIGINT
};
struct KillProcesses {};

// Print the assignment as JSON, for an agent without a command.
struct PrintAssignment {
  v1::DesiredState desired;
  std::shared_ptr<const std::string> peer_list;
};

// Arm the keeper's fence for `deadline`, or disarm it.
struct SetFence {
  bool is_armed = false;
  MonotonicTime deadline;
  MonotonicTime counted_from;  // when the heartbeat was sent that the scheduler answered
};

// Give the keeper the node and run for its last report. Comes after each welcome.
struct SetLastReport {
  v1::LastReportRequest last_report;
  int64_t run_opened_unix_ms = 0;  // a part of the name of the run's log folder, which is the same on all nodes
};

// Gather the stacks of these processes. The answer is StacksGathered; no second GatherStacks comes before it.
struct GatherStacks {
  struct Process {
    uint32_t slot = 0;
    uint64_t pid = 0;  // 0: no process runs
  };
  uint64_t query = 0;
  std::vector<Process> processes;  // at most kMaxStackRanks
};

// Read the last output of the slot's latest process. The answer is LogRead, with the same query and asked_on.
struct ReadLog {
  uint64_t query = 0;
  uint64_t asked_on = 0;  // connect_seq of the stream that asked
  uint32_t slot = 0;
  uint32_t lines = 0;
  ProcessKey known;    // the asker has a part of this process's output already
  uint64_t after = 0;  // the output of `known` that the asker has ends at this byte
};

// Run the node check (--node_check). The answer is NodeChecked; no second CheckNode comes before it.
struct CheckNode {};

// Show a line to the user. With `is_progress`, a terminal rewrites it in place, and a log gets it only at growing
// intervals.
struct Say {
  Severity severity = Severity::kInfo;
  std::string text;
  bool is_progress = false;
};

// The run is over for this agent: write failure.json if there is a cause, and end with `exit_code`.
struct Finish {
  int exit_code = 0;
  v1::Outcome outcome;
  bool leaves_some = false;  // some process can't be killed; the agent doesn't wait for it
};

using Effect = std::variant<Dial, Send, SendHeartbeat, HangUp, FetchPeers, Launch, StopProcesses, KillProcesses,
                            PrintAssignment, SetFence, SetLastReport, GatherStacks, ReadLog, CheckNode, Say, Finish>;
using Effects = std::vector<Effect>;

}  // namespace muster::agent
