// The reason for the end of a process is in the first row that fits. "Its last words" are the end of the process's
// output, or its error file (last_words.h).
//
//   the end of the process                             reason
//   it never started                                   the one that the agent sends; if none: command_not_found
//                                                      (exit code 127), cannot_start (126)
//   the kernel reported a fault of its device while    device_fault
//     it ran (Xid)
//   its agent ended it for a line of its output        output_rule
//   the kernel killed it because memory ran out        out_of_memory
//   it ended by itself after the kernel had killed     out_of_memory, unless its last words name a better reason
//     another process of its control group
//   a signal that usually comes from outside           killed_from_outside (KILL, TERM, INT, HUP, QUIT, …)
//   a signal that it caused itself                     the reason in its last words, else illegal_instruction (ILL),
//                                                      segmentation_fault (SEGV), bus_error (BUS), aborted (ABRT),
//                                                      arithmetic_error (FPE), resource_limit (XCPU, XFSZ);
//                                                      python_exception if it aborted while an exception ended the
//                                                      interpreter (PyTorch's threads)
//   an exit code                                       the reason in its last words, else command_not_found (127),
//                                                      cannot_start (126), or for 128 + signal the signal's reason: a
//                                                      shell ends like this after its command was killed
//
// kAdvice has the advice for each reason. Advice about recovery is only for failures that may not happen again:
// killed_from_outside, collective_timeout, peer_connection_lost, node_lost and agent_ended.
//
//   the run has no recovery          for these reasons: switch it on
//   the restart budget is used up    for these reasons, and if the reason is not known: allow more restarts
#include "scheduler/core/facts/diagnosis.h"

#include <array>
#include <csignal>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "common/base/reason.h"
#include "common/base/text.h"
#include "common/causes/device_codes.h"
#include "common/causes/known_texts.h"
#include "scheduler/core/facts/cause.h"
#include "scheduler/core/facts/last_words.h"

namespace muster::scheduler {
namespace {

struct Advice {
  absl::string_view reason;
  absl::string_view text;  // "{host}" stands for the host; "{killer}" for a program that may have sent the signal
};

constexpr std::array kAdvice = std::to_array<Advice>({
    {reason::kAborted, "it called abort(): PYTHONFAULTHANDLER=1 in its environment shows where"},
    {reason::kArithmeticError,
     "native code divided by zero or made a similar error: PYTHONFAULTHANDLER=1 in its environment shows where"},
    {reason::kBadPath, "correct the path that the error names, on {host}"},
    {reason::kBusError,
     "a file that it maps into memory is cut short, or that file's disk is full, often /dev/shm: look at `df -h "
     "/dev/shm` on {host}"},
    {reason::kCannotStart,
     "check on {host} why the file that the error names can't be executed: its mode, its format and its interpreter"},
    {reason::kCollectiveTimeout,
     "one rank did not reach the collective: `ms-ctl stacks` shows where each rank stands while they run, and "
     "MS_PROGRESS_FILE shows which rank is behind"},
    {reason::kCommandNotFound, "check the spelling of the command, and that it is installed and in PATH on {host}"},
    {reason::kCommandTooLong, "shorten the arguments or the environment of the command"},
    {reason::kDamagedFile,
     "a file is damaged or cut short: compare its size with the original's, and copy or download it again; for a "
     "checkpoint, load the previous one (a Git LFS file may be only a pointer: `git lfs pull`)"},
    {reason::kDeviceBusy,
     "another process uses the device on {host}, often one of an earlier run: `nvidia-smi` or `npu-smi info` names it"},
    {reason::kDeviceFault,
     "the hardware of a device or of its link on {host} is faulty: look at `nvidia-smi -q`, `npu-smi info` and "
     "`dmesg`, reset the device, or take the machine out of the job"},
    {reason::kDeviceKernelFailed,
     "a kernel on the device failed, often by an index out of range; CUDA_LAUNCH_BLOCKING=1 "
     "(ASCEND_LAUNCH_BLOCKING=1) in its environment shows where"},
    {reason::kDeviceMissing,
     "the process sees no such device on {host}: compare the number of processes, CUDA_VISIBLE_DEVICES "
     "(ASCEND_RT_VISIBLE_DEVICES) and the container's devices with what `nvidia-smi` or `npu-smi info` shows"},
    {reason::kDeviceOutOfMemory,
     "make the batch or the part of the model on a device smaller, and check that no other process uses the device "
     "(nvidia-smi, npu-smi info)"},
    {reason::kDiskFull,
     "make room on {host} where it writes (`df -h` and `df -i` show what is full), or have it write elsewhere"},
    {reason::kDuplicateDevice,
     "two ranks use the same device: have the script choose its device by LOCAL_RANK, or start fewer processes on "
     "{host}"},
    {reason::kExecFormatError, "install a build of the program that is made for {host}"},
    {reason::kHostNotResolved,
     "a host name is not known on {host}: correct the name, /etc/hosts or the DNS server (`getent hosts NAME` tests "
     "it), or "
     "use the address"},
    {reason::kIllegalInstruction,
     "a library needs instructions that the processor of {host} lacks (lscpu): install a build for that processor"},
    {reason::kInterfaceNotFound,
     "{host} has no such network interface, or the interface has no address: `ip addr` lists them; correct or unset "
     "GLOO_SOCKET_IFNAME, NCCL_SOCKET_IFNAME or HCCL_SOCKET_IFNAME"},
    {reason::kIoError,
     "a disk or a file server of {host} fails: check that the folder is mounted and its server is up (`mount`, "
     "`dmesg`)"},
    {reason::kKilledFromOutside,
     "something outside the job ended it (an administrator, a batch system, {killer}): look at the logs on {host}, "
     "which may name it"},
    {reason::kLibraryMismatch,
     "libraries on {host} don't match each other, the driver or the device: install versions that match, the same ones "
     "on every node"},
    {reason::kMissingFile, "check that the path exists on {host}: its spelling, the working directory, the mounts"},
    {reason::kMissingLibrary, "install the library on {host}, or add its folder to LD_LIBRARY_PATH"},
    {reason::kMissingModule,
     "install the module on {host} for the Python that runs the script, or add its folder to PYTHONPATH"},
    {reason::kNetworkUnreachable,
     "{host} has no route to that address: check its interface, routes and firewall (`ip route get ADDRESS`); "
     "`--preflight ring` tests the links between the nodes"},
    {reason::kNodeLost, "check that {host} is up and reaches the scheduler"},
    {reason::kOutOfMemory,
     "give the job more memory on {host} (the limit of the batch system, of the container or of systemd), or have it "
     "need less: smaller batches, fewer data loader workers, fewer processes on a machine"},
    {reason::kOutputRule, "fix what that line names; if the line is no failure, correct the rule of --fail_on"},
    {reason::kPeerConnectionLost,
     "a peer has ended or can't be reached: look at the output of the other ranks, and at the network between the "
     "nodes (`--preflight ring` tests it)"},
    {reason::kPermissionDenied, "give the job's user access to what the error names, on {host}"},
    {reason::kPortInUse,
     "end the process that uses the port on {host} (`ss -ltnp` names it), or have the script use another port"},
    {reason::kProgramBusy, "start the job again once no process on {host} writes to the program's file"},
    {reason::kPythonException, "fix what the exception names; the traceback in its output shows where"},
    {reason::kRankTableInvalid, "`ms-ctl ranktable --check FILE` says which rule the rank table breaks, and where"},
    {reason::kRanksDiffer,
     "the ranks don't run the same operations: give all nodes the same script, arguments, data and versions, and check "
     "that no branch depends on the rank"},
    {reason::kReadOnlyFileSystem,
     "have it write elsewhere (HOME, TMPDIR, HF_HOME, the checkpoint's folder), or mount that file system for writing "
     "on {host}"},
    {reason::kResourceLimit, "raise the limit (`ulimit -a` shows the limits)"},
    {reason::kSegmentationFault,
     "native code crashed: PYTHONFAULTHANDLER=1 in its environment shows where, and `ulimit -c unlimited` keeps a core "
     "file"},
    {reason::kServerUnreachable,
     "a server that the line above names does not answer {host}: check that it is up and that the address, the proxy "
     "(https_proxy) and the firewall are right, or download the files beforehand (HF_HUB_OFFLINE=1)"},
    {reason::kSharedMemoryFull,
     "make /dev/shm on {host} larger (docker: --shm-size; Kubernetes: an emptyDir with medium Memory), or use fewer "
     "data loader workers"},
    {reason::kStorageFault,
     "a file system of {host} has failed: `mount` and `dmesg` there show which one; mount it again, or take the node "
     "out "
     "of the job"},
    {reason::kTooManyOpenFiles, "raise the limit of open files on {host} (`ulimit -n`)"},
    {reason::kWrongSettings, "correct the setting that the error names, on every node that has it"},
});

constexpr char kWithRecovery[] = "with MS_ENABLE_RECOVERY=1 on every node, the job would have been restarted";

std::string Bytes(uint64_t bytes) {
  constexpr std::array kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return absl::StrFormat("%.4g %s", value, kUnits[unit]);
}

// Returns "out of memory: the kernel killed it, its control group's limit is 512 MiB and its peak was 512 MiB".
std::string MemoryText(const v1::MemoryKill& memory, const char* who) {
  std::string text = absl::StrCat("out of memory: the kernel killed ", who);
  if (memory.limit_bytes() != 0) {
    absl::StrAppend(&text, ", its control group's limit is ", Bytes(memory.limit_bytes()));
    if (memory.peak_bytes() != 0) absl::StrAppend(&text, " and its peak was ", Bytes(memory.peak_bytes()));
  } else if (memory.peak_bytes() != 0) {
    absl::StrAppend(&text, ", its control group's peak was ", Bytes(memory.peak_bytes()));
  }
  return text;
}

// Returns an empty text for a signal that gives no reason.
absl::string_view ReasonOfSignal(int signal) {
  switch (signal) {
    case SIGILL:
      return reason::kIllegalInstruction;
    case SIGSEGV:
      return reason::kSegmentationFault;
    case SIGBUS:
      return reason::kBusError;
    case SIGABRT:
      return reason::kAborted;
    case SIGFPE:
      return reason::kArithmeticError;
    case SIGXCPU:
    case SIGXFSZ:
      return reason::kResourceLimit;
    case SIGKILL:
    case SIGTERM:
    case SIGINT:
    case SIGHUP:
    case SIGQUIT:
    case SIGUSR1:
    case SIGUSR2:
    case SIGALRM:
      return reason::kKilledFromOutside;
    default:
      return "";
  }
}

// Returns the signal in an exit code of 128 + signal, as a shell makes it: SIGKILL for 137. Returns 0 if there is none.
int SignalInExitCode(int exit_code) {
  const int signal = exit_code - 128;
  return ReasonOfSignal(signal).empty() ? 0 : signal;
}

// Returns a shell's last line, if it says that a command could not be started: "sh: 1: trian: not found".
std::string ShellsWord(const v1::ProcessEnded& ended) {
  if (ended.last_lines().empty()) return "";
  std::string line = *ended.last_lines().rbegin();
  const bool is_shells = absl::EndsWith(line, "not found") || absl::EndsWith(line, "ermission denied") ||
                         absl::StrContains(line, "cannot execute");
  CutText(line, kMaxQuoteBytes);
  return is_shells ? line : "";
}

Diagnosis DiagnoseExit(const v1::ProcessEnded& ended, const LastWords& words) {
  const bool says_nothing_better =
      words.reason.empty() || words.reason == reason::kPythonException || words.reason == reason::kKilledFromOutside;
  const int signal = SignalInExitCode(ended.exit_code());
  if (ended.has_memory() && says_nothing_better && (words.reason.empty() || words.mentions_killed)) {
    return {std::string(reason::kOutOfMemory), absl::StrCat(words.quote, words.quote.empty() ? "" : "; ",
                                                            MemoryText(ended.memory(), "one of its processes"))};
  }
  if (!words.reason.empty()) return {std::string(words.reason), words.quote};
  if (ended.exit_code() == 127) return {std::string(reason::kCommandNotFound), ShellsWord(ended)};
  if (ended.exit_code() == 126) return {std::string(reason::kCannotStart), ShellsWord(ended)};
  if (signal != 0) {
    return {std::string(ReasonOfSignal(signal)),
            absl::StrCat("one of its commands was killed by ", SignalName(signal))};
  }
  return {"", words.quote};
}

// True if the process aborted only because a C++ thread was not joined. This happens when Python ends after an uncaught
// exception, so the exception is the reason.
bool IsAbortOfLeaving(const v1::ProcessEnded& ended) {
  return ended.signal() == SIGABRT && !ended.last_lines().empty() &&
         absl::StrContains(*ended.last_lines().rbegin(), "terminate called without an active exception");
}

std::string AdviceFor(const v1::Cause& cause, const RemedyFacts& facts) {
  if (IsOfAPeer(cause.reason()) && !facts.waited_for.empty()) return absl::StrCat("look first at ", facts.waited_for);
  const bool is_killed_agent = cause.reason() == reason::kAgentEnded && cause.signal() != 0;
  const absl::string_view word = is_killed_agent ? reason::kKilledFromOutside : absl::string_view(cause.reason());
  for (const Advice& advice : kAdvice) {
    if (word != advice.reason) continue;
    return absl::StrReplaceAll(advice.text,
                               {{"{host}", cause.host_name()},
                                {"{killer}", cause.signal() == SIGKILL ? "earlyoom or systemd-oomd" : "a script"}});
  }
  return "";
}

bool IsNodesEnd(const v1::Cause& cause) {
  return cause.kind() == v1::Cause::NODE_LOST || cause.reason() == reason::kNodeLost ||
         cause.reason() == reason::kAgentEnded;
}

bool MayPass(const v1::Cause& cause) {
  return cause.reason() == reason::kKilledFromOutside || IsNodesEnd(cause) || IsOfAPeer(cause.reason());
}

}  // namespace

Diagnosis Diagnose(const v1::ProcessEnded& ended) {
  if (!ended.launch_error().empty()) {
    const absl::string_view by_code = ended.exit_code() == 127 ? reason::kCommandNotFound : reason::kCannotStart;
    return {ended.launch_reason().empty() ? std::string(by_code) : ended.launch_reason(), ended.launch_error()};
  }
  for (const std::string& line : ended.kernel_lines()) {
    if (ReasonByXid(line).empty()) continue;
    std::string quote = line;
    CutText(quote, kMaxQuoteBytes);
    return {std::string(reason::kDeviceFault),
            absl::StrCat("the kernel reports ", MeaningOfXid(line), " (", quote, ")")};
  }
  if (!ended.failing_line().empty()) {
    std::string line = ended.failing_line();
    CutText(line, kMaxQuoteBytes);
    // The line may also show what decides about the node, or that a peer has failed.
    const absl::string_view known = ReasonByText(line, TextPlace::kLine);
    const bool is_kept = !known.empty() && EvidenceOf(known) != Evidence::kOwn;
    return {std::string(is_kept ? known : reason::kOutputRule), std::move(line)};
  }
  const LastWords words = ReadLastWords(ended);
  if (ended.signal() == 0) return DiagnoseExit(ended, words);
  if (ended.signal() == SIGKILL && ended.has_memory()) {
    return {std::string(reason::kOutOfMemory), MemoryText(ended.memory(), "it")};
  }
  const absl::string_view by_signal = ReasonOfSignal(ended.signal());
  // If a process was killed, an earlier traceback in its output is not the reason.
  if (by_signal == reason::kKilledFromOutside) return {std::string(by_signal), ""};
  const bool is_known = !words.reason.empty() && (words.reason != reason::kPythonException || IsAbortOfLeaving(ended));
  return {std::string(is_known ? words.reason : by_signal), words.quote};
}

bool IsOfAPeer(absl::string_view reason) { return !reason.empty() && EvidenceOf(reason) == Evidence::kConsequence; }

std::string RemedyOf(const v1::Cause& cause, const RemedyFacts& facts) {
  std::string advice = AdviceFor(cause, facts);
  const auto add = [&advice](absl::string_view text) { absl::StrAppend(&advice, advice.empty() ? "" : "; ", text); };
  if (facts.has_given_up) {
    if (advice.empty()) advice = "fix what fails";
    if (MayPass(cause) || cause.reason().empty()) add("--max_restarts allows more restarts");
  } else if (!facts.recovers && IsNodesEnd(cause)) {
    add("with MS_ENABLE_RECOVERY=1 on every node, the job would have waited for it to come back, or for a --spare to "
        "take its place");
  } else if (!facts.recovers && MayPass(cause)) {
    add(kWithRecovery);
  } else if (advice.empty() && absl::EndsWith(cause.text(), absl::StrCat("exit code ", cause.exit_code()))) {
    add(absl::StrCat("look for the meaning of exit code ", cause.exit_code(), " in the program's own output"));
  }
  return advice;
}

}  // namespace muster::scheduler
