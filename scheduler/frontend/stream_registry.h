// All open Session streams by id, and their deadlines. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "scheduler/core/state/events.h"

namespace muster::scheduler {

// One open stream, as the loop and the sweeper use it. Any thread may call its methods; none of them blocks.
class OpenStream {
 public:
  virtual ~OpenStream() = default;
  virtual void Send(std::shared_ptr<const v1::SchedulerMessage> message) = 0;
  // Ends the stream after everything that was sent before.
  virtual void Close() = 0;
  // Ends the stream because the scheduler shuts down.
  virtual void CloseForShutdown() = 0;
  // Called when a deadline set with StreamRegistry::Watch has passed.
  virtual void OnDeadline() = 0;
  // Ends the stream, which has not joined, to make room for a newer one.
  virtual void MakeRoom() = 0;
  // The trusted authorities have changed: ends the stream, with the reason, if its peer is no longer accepted.
  virtual void CheckPeer() = 0;
};

class StreamRegistry {
 public:
  // At most `most_unjoined` streams may be open that have not joined. If one more opens, the principal with most of
  // them loses its oldest one. So a client that opens many streams does not block other clients.
  explicit StreamRegistry(size_t most_unjoined = 4096) : most_unjoined_(most_unjoined) {}

  StreamId NextId();
  // Adds a stream that has not joined yet. Returns the stream that the caller must end to make room; usually null.
  std::shared_ptr<OpenStream> Add(StreamId id, const std::string& principal, std::shared_ptr<OpenStream> stream);
  void NoteJoined(StreamId id);
  void Remove(StreamId id);
  std::shared_ptr<OpenStream> Find(StreamId id) const;  // null: closed
  std::vector<std::shared_ptr<OpenStream>> All() const;
  size_t size() const;
  size_t deadline_count() const;

  // Makes the first Sweep at or after `when` call the stream's OnDeadline, unless Remove is called before. Remove also
  // removes the deadlines.
  void Watch(StreamId id, MonotonicTime when);
  void Sweep(MonotonicTime now);

  // Waits until no stream is open. False after `timeout`.
  bool AwaitEmpty(absl::Duration timeout) const;

 private:
  const size_t most_unjoined_;
  mutable Mutex mutex_;
  mutable CondVar emptied_;
  StreamId last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  struct Entry {
    std::shared_ptr<OpenStream> stream;
    std::vector<MonotonicTime> deadlines;
    std::string principal = {};  // the stream counts for it until it has joined
  };
  void ForgetUnjoined(StreamId id, const std::string& principal) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::flat_hash_map<StreamId, Entry> streams_ ABSL_GUARDED_BY(mutex_);
  std::set<std::pair<MonotonicTime, StreamId>> deadlines_ ABSL_GUARDED_BY(mutex_);
  size_t unjoined_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, std::set<StreamId>> unjoined_of_ ABSL_GUARDED_BY(mutex_);  // by principal, the oldest first
  std::set<std::pair<size_t, std::string>> crowds_ ABSL_GUARDED_BY(mutex_);        // (unjoined streams, principal)
};

}  // namespace muster::scheduler
