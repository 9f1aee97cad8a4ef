// The first and the last steps of every program. Each main calls BeginProgram first and EndProgram last.
#pragma once

#include "absl/time/time.h"

namespace muster {

// Prepares the process. Must be called before the program opens a descriptor. It:
// - opens /dev/null for each missing standard stream: otherwise a socket or pipe could get that stream's number;
// - sets the process's name;
// - makes a write beyond the file size limit (RLIMIT_FSIZE) fail, instead of ending the program;
// - makes ended children wait to be reaped, even if the parent process had SIGCHLD ignored.
void BeginProgram(const char* name);

// The end of ms-scheduler, ms-worker, ms-ctl and ms-ring: EndProgram is the last line of each main. Each main takes
// those of these steps that apply, in this order:
//   1. The outcome is durable (the scheduler's journal) and reported: by the scheduler to its agents (Drain), by the
//      agent to its scheduler and its user (AgentLoop::Run).
//   2. The program's children have ended: the keeper, and with it all processes; a scheduler that the agent started.
//      (If the program is killed before, the keeper ends them.)
//   3. The program's threads have stopped and the journal is closed. Sockets, the work folder and the node's file are
//      removed.
//   4. EndProgram writes the last lines of stdout and of the log, and calls _exit.
// The kernel then closes all descriptors, which releases the node's lock.
//
// The end never waits for a library's shutdown: gRPC's waits for ever for a thread that could not be made (see
// grpc_start.h), and destructors of static objects race with threads that still run. So nothing runs after EndProgram:
// no atexit handler and no static destructor.

// Ends the process with `code`. Waits without limit for a reader of stdout, and for 2 s for a reader of the log. If the
// printed text (stdio's stdout) could not be written, a `code` of 0 becomes 1. With AddressSanitizer it first looks for
// leaks.
[[noreturn]] void EndProgram(int code);

// The last resort: ends the process with `code` and a message after `patience` (in whole seconds), even if threads
// hang. Each call replaces the one before. An infinite patience cancels it. If a signal that ends the program has come,
// the process still ends within the patience set for signals.
void EndAtTheLatest(absl::Duration patience, int code);

// Makes NoteEndSignal start the same last resort, with this patience. From then on, a SIGALRM from another process is
// ignored unless a last resort is running.
void SetSignalPatience(absl::Duration patience);

// Called in a signal handler. The first signal that ends this program starts the last resort; later signals do not
// extend it.
void NoteEndSignal(int signal);

}  // namespace muster
