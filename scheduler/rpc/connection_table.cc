#include "scheduler/rpc/connection_table.h"

#include <utility>

namespace muster::scheduler {

void ConnectionTable::AddSilent(int fd, std::string peer, MonotonicTime now) {
  silent_[fd] = Accepted{std::move(peer), now};
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

std::vector<ConnectionTable::Silent> ConnectionTable::TakeAllSilent() {
  std::vector<Silent> all;
  for (auto& [fd, accepted] : silent_) all.push_back(Silent{fd, std::move(accepted.peer), absl::ZeroDuration()});
  silent_.clear();
  return all;
}

void ConnectionTable::AddHandedOver(int fd, std::optional<uint64_t> inode, std::string peer, MonotonicTime now) {
  handed_over_[std::move(peer)] = HandedOver{{fd, inode}, now};
}

std::optional<SocketRef> ConnectionTable::NoteCall(const std::string& peer) {
  const auto found = handed_over_.find(peer);
  if (found == handed_over_.end()) return std::nullopt;
  const SocketRef socket = found->second.socket;
  handed_over_.erase(found);
  return socket;
}

}  // namespace muster::scheduler
