#include "scheduler/ingress/connection_table.h"

#include <algorithm>
#include <utility>

namespace muster::scheduler {

std::optional<ConnectionTable::Silent> ConnectionTable::AddSilent(int fd, std::string peer, MonotonicTime now) {
  std::optional<Silent> gone;
  if (silent_.size() >= options_.most_silent && !silent_.empty()) {
    const auto oldest = std::min_element(silent_.begin(), silent_.end(),
                                         [](const auto& a, const auto& b) { return a.second.since < b.second.since; });
    gone = Silent{oldest->first, std::move(oldest->second.peer), now - oldest->second.since};
    silent_.erase(oldest);
  }
  silent_[fd] = Accepted{std::move(peer), now};
  return gone;
}

std::optional<std::string> ConnectionTable::TakeSilent(int fd) {
  const auto found = silent_.find(fd);
  if (found == silent_.end()) return std::nullopt;
  std::string peer = std::move(found->second.peer);
  silent_.erase(found);
  return peer;
}

std::vector<ConnectionTable::Silent> ConnectionTable::TakeOverdue(MonotonicTime now, bool is_crowded) {
  const absl::Duration limit = is_crowded ? options_.crowded_silence_limit : options_.silence_limit;
  std::vector<Silent> overdue;
  for (auto it = silent_.begin(); it != silent_.end();) {
    const absl::Duration age = now - it->second.since;
    if (age < limit) {
      ++it;
      continue;
    }
    overdue.push_back(Silent{it->first, std::move(it->second.peer), age});
    it = silent_.erase(it);
  }
  return overdue;
}

std::optional<FairQueue::Waiting> ConnectionTable::AddWaiting(int fd, std::string peer) {
  return waiting_.Add({fd, std::move(peer)});
}

std::optional<FairQueue::Waiting> ConnectionTable::TakeNext() { return HasNext() ? waiting_.Take() : std::nullopt; }

std::vector<int> ConnectionTable::TakeAllOwn() {
  std::vector<int> all;
  for (const auto& [fd, accepted] : silent_) all.push_back(fd);
  for (const FairQueue::Waiting& waiting : waiting_.TakeAll()) all.push_back(waiting.fd);
  silent_.clear();
  return all;
}

void ConnectionTable::AddHandedOver(NamedConnection connection, MonotonicTime now) {
  const auto [at, is_new] = handed_over_.emplace(connection.id, Accepted{std::move(connection.peer), now});
  if (is_new) waiting_.NoteUnderWay(at->second.peer);
}

std::optional<std::string> ConnectionTable::TakeHandedOver(uint64_t id) {
  const auto found = handed_over_.find(id);
  if (found == handed_over_.end()) return std::nullopt;
  std::string peer = std::move(found->second.peer);
  handed_over_.erase(found);
  waiting_.NoteOver(peer);
  return peer;
}

std::vector<NamedConnection> ConnectionTable::TakeMute(MonotonicTime now, absl::Duration limit) {
  std::vector<NamedConnection> mute;
  for (const auto& [id, connection] : handed_over_) {
    if (now - connection.since >= limit) mute.push_back({id, connection.peer});
  }
  for (const NamedConnection& one : mute) TakeHandedOver(one.id);
  return mute;
}

}  // namespace muster::scheduler
