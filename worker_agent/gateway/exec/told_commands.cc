// Of a round, and of each way to be refused (one more: not at all):
//
//   the first kToldEach     told at once
//   the next one            waits for a pause, and stands for those that follow meanwhile; the pause is twice as long
//                           each time, up to kLongestPause
//   the round ends          what waits is told
#include "worker_agent/gateway/exec/told_commands.h"

#include <algorithm>
#include <utility>

#include "common/base/limits.h"

namespace muster::exec {

std::vector<v1::RemoteCommands> ToldCommands::Add(v1::RemoteCommands command, MonotonicTime now) {
  Kind& kind = kinds_[command.refusal()];
  command.set_count(1);
  if (kind.told < kToldEach) {
    ++kind.told;
    return {std::move(command)};
  }
  const uint32_t before = kind.waiting.count();
  if (before == 0) kind.due = now + kind.pause;
  kind.waiting = std::move(command);
  kind.waiting.set_count(std::min(before + 1, kMaxCommandsCounted));
  return TakeDue(now);
}

std::vector<v1::RemoteCommands> ToldCommands::TakeDue(MonotonicTime now) {
  std::vector<v1::RemoteCommands> due;
  for (auto& [refusal, kind] : kinds_) {
    if (kind.waiting.count() == 0 || now < kind.due) continue;
    kind.pause = std::min(kind.pause * 2, kLongestPause);
    due.push_back(std::exchange(kind.waiting, {}));
  }
  return due;
}

std::vector<v1::RemoteCommands> ToldCommands::EndRound() {
  std::vector<v1::RemoteCommands> rest;
  for (auto& [refusal, kind] : kinds_) {
    if (kind.waiting.count() > 0) rest.push_back(std::move(kind.waiting));
  }
  kinds_.clear();
  return rest;
}

}  // namespace muster::exec
