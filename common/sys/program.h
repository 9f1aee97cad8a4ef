// The first and the last steps of all programs: the first and the last line of each main.
#pragma once

#include "absl/time/time.h"

namespace muster {

// Prepares the process; must come before anything opens a descriptor. Opens /dev/null for each missing standard stream,
// so that no socket or pipe gets its number and is mistaken for it. Names the process. Makes a file size limit
// (RLIMIT_FSIZE) an error of the write, not the end of the program. Makes ended children wait to be reaped, even if the
// parent process had SIGCHLD ignored.
void BeginProgram(const char* name);

// The way in which ms-scheduler, ms-worker, ms-ctl and ms-ring end: by EndProgram, the last line of each main.
//
// Everything else has happened before, in this order, each step in the main of the program that has it:
//   1. The outcome is durable (the scheduler's journal) and reported: by the scheduler to its agents (Drain), by the
//      agent to its scheduler and its user (AgentLoop::Run).
//   2. The program's children have ended: the keeper, and with it all processes; a scheduler of its own. (If the
//      program is killed before, the keeper ends them.)
//   3. Its threads have stopped and the journal is closed; sockets, the work folder and the node's file are removed.
//   4. EndProgram: the last lines of stdout and of the log are out. Then _exit.
// The kernel does the rest: it closes descriptors and so releases the node's lock.
//
// No end depends on a library's shutdown: gRPC's waits for ever for a thread that could not be made (see grpc_start.h),
// and destructors of static objects race with threads that live on. So nothing runs after EndProgram: no atexit
// handler, no static destructor.

// Waits for a reader of stdout without limit, and for a reader of the log for 2 s. If the printed text (stdio's stdout)
// could not be written, success becomes exit code 1. With AddressSanitizer it looks for leaks first.
[[noreturn]] void EndProgram(int code);

// The last resort: ends the process with `code` after `patience` (in whole seconds), with a message, wherever its
// threads hang by then. Each call replaces the one before. An infinite patience cancels it; but if a signal has come,
// the process still ends within that signal's patience.
void EndAtTheLatest(absl::Duration patience, int code);

// Does the same, starting with a signal: it gives NoteEndSignal its effect. From then on a SIGALRM from outside is
// ignored, unless an end is under way.
void SetSignalPatience(absl::Duration patience);

// Notes, in a signal handler, the first signal that ends this program. Later ones give it no more time.
void NoteEndSignal(int signal);

}  // namespace muster
