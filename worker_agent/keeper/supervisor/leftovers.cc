// What a process that has died leaves. All of it has been sent SIGKILL: by its shim, by the keeper where the shim was
// killed.
//
//   after SIGKILL                                     what is told
//   nothing is left within kTogether                  the death, with the word that nothing is left
//   something is left for longer                      the death at once; "cleared" when nothing is left
//   something is left for leftovers_patience          one process of it: it hangs in the kernel, or a tracer holds it
//   (who is left can't be seen)                       nothing: it is looked at again
#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "worker_agent/keeper/boottime.h"
#include "worker_agent/keeper/process/descendants.h"
#include "worker_agent/keeper/supervisor/supervisor.h"

namespace muster::agent {
namespace {

// A cause is hardly later for it, and in nearly all cases there is one word instead of two.
constexpr absl::Duration kTogether = absl::Milliseconds(250);

}  // namespace

// Comes with the death and with each order to kill.
void Supervisor::NoteKilled(Process& process) {
  const MonotonicTime now = BootTime();
  if (process.killed_at.is_never()) {
    process.killed_at = now;
    process.look_at = now + options_.leftovers_patience;
  }
  if (process.has_ended && !process.is_told && process.tell_at.is_never()) process.tell_at = now + kTogether;
}

void Supervisor::TellEarly(Process& process) {
  process.tell_at = MonotonicTime::Never();
  process.is_told = true;
  Burial& burial = Bury(process);
  burial.ended.is_anything_left = true;
  burial.ended.end.last_lines = process.output->LastLinesSoFar();
  TakeLastAnswer(process.spec.key, "");
}

void Supervisor::LookForUnkillable(Process& process, MonotonicTime now) {
  process.look_at = now + options_.leftovers_patience;
  // Strays may be another process's: then that one waits for them as well.
  std::set<pid_t> shims;
  for (const auto& [pid, key] : shims_) shims.insert(pid);
  const auto left =
      process.is_shim_lost ? DescendantsOf(::getpid(), shims) : DescendantsOf(process.shim->pid(), /*spared=*/{});
  if (!left.has_value() || left->empty()) return;
  const auto living = std::find_if(left->begin(), left->end(), [](const ProcessInfo& info) { return !info.is_dead; });
  const ProcessInfo& found = living != left->end() ? *living : left->front();
  const std::string state(1, StateOf(found));
  Unkillable& told = process.unkillable;
  if (told.pid == found.pid && told.state == state) return;
  told = {process.spec.key, found.pid, ShownName(found), state, process.killed_at};
  tell_(told);
}

// ---------------------------------------------------------------------------------------------------------- deadlines

void Supervisor::RunLeftoverDeadlines(Process& process, MonotonicTime now) {
  if (now >= process.tell_at) TellEarly(process);
  if (now >= process.look_at) LookForUnkillable(process, now);
}

MonotonicTime Supervisor::NextLeftoverDeadline(const Process& process) {
  return std::min(process.tell_at, process.look_at);
}

}  // namespace muster::agent
