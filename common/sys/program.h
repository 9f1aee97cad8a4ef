// How all programs begin and end: the first and the last line of each main.
#pragma once

#include "absl/time/time.h"

namespace muster {

// Opens /dev/null for each standard stream that is missing, so that no socket or pipe gets its number and is taken for
// it; names the process; lets a file that may not grow (RLIMIT_FSIZE) be an error of the write, not the end of the
// program; and has children wait for who asks how they ended, also where whoever started the program ignores SIGCHLD.
// Before anything opens a descriptor.
void BeginProgram(const char* name);

// How ms-scheduler, ms-worker, ms-ctl and ms-ring end: by EndProgram, the last line of each main.
//
// Everything that has to happen has happened before, in this order, each step in the main of the program that has it:
//   1. The outcome is durable (the scheduler's journal) and told: the scheduler to its agents (Drain), the agent to its
//      scheduler and its user (AgentLoop::Run).
//   2. What the program started has ended: the keeper, and with it all processes; a scheduler of its own. (If the
//      program is killed before, the keeper ends them.)
//   3. Its threads have stopped and the journal is closed; sockets, the work folder and the node's file are removed.
//   4. EndProgram: the last lines of stdout and of the log are out. Then _exit.
// The kernel does the rest: it closes descriptors and thereby releases the node's lock.
//
// No end depends on a library's shutdown: gRPC's waits for ever for a thread that could not be made (see grpc_start.h),
// and destructors of static objects race with threads that live on. So nothing runs after EndProgram: no atexit
// handler, no static destructor.

// Waits for a reader of stdout as long as it takes, for one of the log for 2 s. If what was printed (stdio's stdout)
// could not be written, the end is no success but 1. Built with AddressSanitizer it looks for leaks first.
[[noreturn]] void EndProgram(int code);

// The last resort. Once called, the process ends with `code` after `patience` (of whole seconds), wherever its threads
// hang by then, and says so. Each call replaces the one before. An infinite patience takes it back; if a signal has
// come, the process still ends within that signal's patience.
void EndAtTheLatest(absl::Duration patience, int code);

// The same from a signal on: what NoteEndSignal is good for. Without this call it does nothing. A SIGALRM from outside
// is ignored from then on, unless an end is under way.
void SetSignalPatience(absl::Duration patience);

// For a handler: the first signal that shall end this program has come. Later ones give it no more time.
void NoteEndSignal(int signal);

}  // namespace muster
