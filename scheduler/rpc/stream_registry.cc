#include "scheduler/rpc/stream_registry.h"

#include <utility>

namespace muster::scheduler {

StreamId StreamRegistry::NextId() {
  MutexLock lock(mutex_);
  return ++last_id_;
}

std::shared_ptr<OpenStream> StreamRegistry::Add(StreamId id, std::shared_ptr<OpenStream> stream) {
  MutexLock lock(mutex_);
  streams_.emplace(id, Entry{std::move(stream), {}});
  unjoined_.insert(id);
  if (unjoined_.size() <= most_unjoined_) return nullptr;
  const auto oldest = streams_.find(*unjoined_.begin());
  unjoined_.erase(unjoined_.begin());
  return oldest == streams_.end() ? nullptr : oldest->second.stream;
}

void StreamRegistry::NoteJoined(StreamId id) {
  MutexLock lock(mutex_);
  unjoined_.erase(id);
}

void StreamRegistry::Remove(StreamId id) {
  std::shared_ptr<OpenStream> removed;  // destroyed after the lock is free
  MutexLock lock(mutex_);
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  removed = std::move(found->second.stream);
  for (const MonotonicTime deadline : found->second.deadlines) deadlines_.erase({deadline, id});
  unjoined_.erase(id);
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
