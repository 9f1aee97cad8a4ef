// The stop of processes. The keeper asks a process once, through its shim (shim.h). SIGKILL follows at kill_at.
#include <algorithm>

#include "worker_agent/keeper/boottime.h"
#include "worker_agent/keeper/supervisor/supervisor.h"

namespace muster::agent {

namespace {

// A shim may take this long to receive the order to kill. After that the keeper kills the shim, and then its processes.
constexpr absl::Duration kShimPatience = absl::Milliseconds(200);

}  // namespace

void Supervisor::BeginStop(Process& process, MonotonicTime since, absl::Duration stop_time) {
  if (!process.stop_at.is_never()) process.stop_at = std::min(process.stop_at, since);
  if (process.has_ended || process.is_stop_requested) return;
  process.is_stop_requested = true;
  process.kill_at = since + stop_time;
  // If kill_at has passed, RunDeadlines kills the process at once. Stop would let a suspended process run before that.
  if (process.kill_at > BootTime()) process.shim->Stop();
}

void Supervisor::Stop(const ProcessKey& key) {
  if (auto it = processes_.find(key); it != processes_.end()) BeginStop(it->second, BootTime(), options_.stop_timeout);
  if (auto found = waiting_.extract(key)) {
    if (found.mapped().log != 0) sinks_.logs.CloseLog(found.mapped().log, {});
    Refuse(key);
  }
}

void Supervisor::StopAll() { StopAllSince(BootTime(), options_.stop_timeout); }

void Supervisor::InterruptAll(absl::Duration interrupt_time) {
  RefuseWaiting();
  const MonotonicTime now = BootTime();
  for (auto& [key, process] : processes_) {
    if (process.has_ended || process.is_stop_requested) continue;
    process.is_stop_requested = true;
    process.stop_at = now + interrupt_time;
    process.kill_at = now + options_.stop_timeout;
    if (process.kill_at > now) process.shim->Interrupt();
  }
}

void Supervisor::FenceFell(MonotonicTime since) {
  StopAllSince(since, options_.fence_stop_timeout);
  is_suspended_ = false;  // for processes that start after the fence is set again
  fence_ = since;
  fence_kill_at_ = since + options_.fence_stop_timeout;
  fence_through_ = last_number_;
}

void Supervisor::StopAllSince(MonotonicTime since, absl::Duration stop_time) {
  RefuseWaiting();
  const MonotonicTime kill_at = since + stop_time;
  for (auto& [key, process] : processes_) {
    BeginStop(process, since, stop_time);
    // A process that was ordered to stop before this gets no more time either.
    if (!process.has_ended) process.kill_at = std::min(process.kill_at, kill_at);
  }
}

void Supervisor::Suspend() {
  is_suspended_ = true;
  for (const auto& [key, process] : processes_) {
    if (process.shim) process.shim->Suspend();
  }
}

void Supervisor::Resume() {
  is_suspended_ = false;
  for (const auto& [key, process] : processes_) {
    if (process.shim) process.shim->Resume();
  }
}

void Supervisor::Forward(int signal) {
  for (const auto& [key, process] : processes_) process.shim->Forward(signal);
}

void Supervisor::KillAll() {
  RefuseWaiting();
  KillThrough(last_number_);
}

void Supervisor::KillForGood() {
  KillAll();
  LookForStrays();  // kills all other children, too
}

void Supervisor::KillThrough(uint64_t last_number) {
  for (auto& [key, process] : processes_) {
    if (process.number <= last_number) Kill(process);
  }
}

void Supervisor::Kill(Process& process) {
  process.is_stop_requested = true;
  process.stop_at = process.kill_at = MonotonicTime::Never();
  if (process.is_killing || process.is_shim_lost) return;
  process.shim->Kill();
  process.kill_shim_at = std::min(process.kill_shim_at, BootTime() + kShimPatience);
}

}  // namespace muster::agent
