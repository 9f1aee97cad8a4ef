#include "scheduler/frontend/stream_registry.h"

#include <utility>

namespace muster::scheduler {

StreamId StreamRegistry::NextId() {
  MutexLock lock(mutex_);
  return ++last_id_;
}

std::shared_ptr<OpenStream> StreamRegistry::Add(StreamId id, const std::string& principal,
                                                std::shared_ptr<OpenStream> stream) {
  MutexLock lock(mutex_);
  streams_.emplace(id, Entry{std::move(stream), {}, principal});
  std::set<StreamId>& same = unjoined_of_[principal];
  crowds_.erase({same.size(), principal});
  same.insert(id);
  crowds_.emplace(same.size(), principal);
  if (++unjoined_ <= most_unjoined_) return nullptr;
  const std::string largest = crowds_.rbegin()->second;
  const StreamId oldest = *unjoined_of_.at(largest).begin();
  ForgetUnjoined(oldest, largest);
  const auto found = streams_.find(oldest);
  return found == streams_.end() ? nullptr : found->second.stream;
}

void StreamRegistry::ForgetUnjoined(StreamId id, const std::string& principal) {
  const auto same = unjoined_of_.find(principal);
  if (same == unjoined_of_.end() || !same->second.contains(id)) return;
  crowds_.erase({same->second.size(), principal});
  same->second.erase(id);
  --unjoined_;
  if (same->second.empty()) {
    unjoined_of_.erase(same);
  } else {
    crowds_.emplace(same->second.size(), principal);
  }
}

void StreamRegistry::NoteJoined(StreamId id) {
  MutexLock lock(mutex_);
  if (const auto found = streams_.find(id); found != streams_.end()) ForgetUnjoined(id, found->second.principal);
}

void StreamRegistry::Remove(StreamId id) {
  std::shared_ptr<OpenStream> removed;  // destroyed after the lock is released
  MutexLock lock(mutex_);
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  removed = std::move(found->second.stream);
  for (const MonotonicTime deadline : found->second.deadlines) deadlines_.erase({deadline, id});
  ForgetUnjoined(id, found->second.principal);
  streams_.erase(found);
  if (streams_.empty()) emptied_.NotifyAll();
}

std::shared_ptr<OpenStream> StreamRegistry::Find(StreamId id) const {
  MutexLock lock(mutex_);
  const auto found = streams_.find(id);
  return found == streams_.end() ? nullptr : found->second.stream;
}

std::vector<std::shared_ptr<OpenStream>> StreamRegistry::All() const {
  MutexLock lock(mutex_);
  std::vector<std::shared_ptr<OpenStream>> all;
  all.reserve(streams_.size());
  for (const auto& [id, entry] : streams_) all.push_back(entry.stream);
  return all;
}

size_t StreamRegistry::deadline_count() const {
  MutexLock lock(mutex_);
  return deadlines_.size();
}

size_t StreamRegistry::size() const {
  MutexLock lock(mutex_);
  return streams_.size();
}

void StreamRegistry::Watch(StreamId id, MonotonicTime when) {
  MutexLock lock(mutex_);
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  found->second.deadlines.push_back(when);
  deadlines_.emplace(when, id);
}

void StreamRegistry::Sweep(MonotonicTime now) {
  std::vector<std::shared_ptr<OpenStream>> due;
  {
    MutexLock lock(mutex_);
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
      const auto [when, id] = *deadlines_.begin();
      Entry& entry = streams_.at(id);
      std::erase(entry.deadlines, when);
      due.push_back(entry.stream);
      deadlines_.erase(deadlines_.begin());
    }
  }
  for (const auto& stream : due) stream->OnDeadline();
}

bool StreamRegistry::AwaitEmpty(absl::Duration timeout) const {
  const MonotonicTime end = Clock::System().Read().monotonic + timeout;
  MutexLock lock(mutex_);
  while (!streams_.empty()) {
    const MonotonicTime now = Clock::System().Read().monotonic;
    if (now >= end) return false;
    emptied_.WaitFor(mutex_, end - now);
  }
  return true;
}

}  // namespace muster::scheduler
