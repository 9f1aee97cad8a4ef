// The last output of a slot's latest process:
//
//   it runs, or has left something that runs    its output so far
//   it has ended, and no other has begun        its last output, which was kept in remains_
//   none was started                            is_found is false
#include <utility>

#include "worker_agent/keeper/supervisor/supervisor.h"

namespace muster::agent {

OutputRead Supervisor::ReadOutput(const OutputWish& wish) const {
  OutputRead read;
  read.query = wish.query;
  read.asked_on = wish.asked_on;
  const auto take = [&](const ProcessKey& key, pid_t pid, const OutputTail& tail, const std::string& log_file) {
    read.is_found = true;
    read.key = key;
    read.pid = pid;
    OutputPart part = tail.Read(key == wish.known ? wish.after : 0, wish.lines);
    read.text = std::move(part.text);
    read.unfinished = std::move(part.unfinished);
    read.end = part.end;
    read.has_gap = part.has_gap;
    read.log_file = log_file;
  };
  for (const auto& [key, process] : processes_) {
    if (key.slot != wish.slot || process.output == nullptr || (read.is_found && key < read.key)) continue;
    take(key, process.pid, process.output->tail(), process.output->has_log() ? process.spec.log_path : "");
  }
  if (read.is_found) return read;
  const auto found = remains_.find(wish.slot);
  if (found == remains_.end()) return read;
  take(found->second.key, found->second.pid, found->second.tail, found->second.log_file);
  read.has_ended = true;
  return read;
}

}  // namespace muster::agent
