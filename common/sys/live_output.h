// The terminal, pipe or file behind stdout or stderr, as a destination that never blocks its writers.
//
// Bytes that it doesn't take at once wait in a bounded buffer. While that is nearly full the writing processes have to
// wait as well (ShouldPause), as they would without a keeper in between: a slow reader loses nothing. A reader that
// takes nothing at all for kStallPatience counts as stuck: from then on the oldest bytes are dropped, and a line in
// their place says how many.
//
// Our lines (WriteLines) never stand in the middle of a line that a training process (Write) or another process of ours
// (SharedLine) has begun. The end of such a line usually comes at once: a program without a buffer writes text and line
// break separately. We wait for it for kLinePatience at most, and then write a line break first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "common/base/clock.h"
#include "common/base/unique_fd.h"
#include "common/sys/shared_line.h"

namespace muster {

class LiveOutput {
 public:
  static constexpr size_t kFullBytes = 1024 * 1024;
  static constexpr size_t kMaxBytes = 4 * 1024 * 1024;
  static constexpr absl::Duration kStallPatience = absl::Seconds(5);
  static constexpr absl::Duration kLinePatience = SharedLine::kLinePatience;
  static constexpr size_t kMaxHeldBytes = 64 * 1024;  // of our lines; more are not held back

  // Returns the line, with its end, that says how many bytes were dropped.
  using DropNote = std::function<std::string(uint64_t bytes)>;

  // `fd` stays the caller's and stays open. Its O_NONBLOCK is never touched, as others share that flag. `line` outlives
  // this; null: no other process of ours writes there.
  explicit LiveOutput(int fd, SharedLine* line = nullptr, DropNote drop_note = NoteOfWorker);

  // Writes or drops a chunk as a whole: pass whole lines if you can.
  void Write(std::string_view chunk, MonotonicTime now);
  // Writes whole lines of ours.
  void WriteLines(std::string_view lines, MonotonicTime now);
  void Flush(MonotonicTime now);

  bool ShouldPause(MonotonicTime now) const;
  // Returns when ShouldPause turns false by itself; never if nothing waits.
  MonotonicTime StallDeadline() const;

  // Returns when to flush again because a line has not ended; never if no line is open.
  MonotonicTime LineDeadline() const;
  // Waits for that line, for SharedLine::kStuckPatience at most. For callers that may block.
  void AwaitLine(const std::function<MonotonicTime()>& now);

  // Returns why a file could not take all bytes, as errno (a full disk, a quota, a limit); 0 if it has taken all.
  int lost_error() const { return lost_error_; }

  bool has_pending() const { return !chunks_.empty() || !held_.empty(); }
  size_t pending_bytes() const { return pending_bytes_; }
  // True if something is pending until the destination takes bytes: watch it for writing.
  bool awaits_room() const { return !chunks_.empty() && retry_line_at_.is_never(); }
  // Closes a description of its own, and writes nothing more.
  void Abandon();
  int watch_fd() const { return own_fd_.is_open() ? own_fd_.get() : fd_; }

 private:
  enum class Kind { kNeverBlocks, kOwnDescription, kSocket, kShared };
  struct Chunk {
    std::string bytes;
    uint64_t reported_drops = 0;  // how many, if this is a line about dropped bytes
  };

  static std::string NoteOfWorker(uint64_t bytes);
  void Append(std::string_view bytes);
  void FlushChunks(MonotonicTime now);
  bool TakeLine(MonotonicTime now);
  void LeaveLine();
  ssize_t WriteSome(const char* bytes, size_t size);
  bool IsWritable() const;
  void DropOldest();
  void InsertDropNote();

  const int fd_;
  const DropNote drop_note_;
  UniqueFd own_fd_;  // the same file, opened again with O_NONBLOCK
  Kind kind_ = Kind::kShared;
  std::deque<Chunk> chunks_;
  size_t front_written_ = 0;  // of chunks_.front()
  size_t pending_bytes_ = 0;
  uint64_t dropped_bytes_ = 0;  // right after the front chunk if that has begun, else before it
  int lost_error_ = 0;
  bool ends_in_newline_ = true;      // after everything written
  bool will_end_in_newline_ = true;  // after everything pending
  std::string held_;                 // our lines, waiting for the end of a line that is pending or written
  MonotonicTime held_since_;
  SharedLine* const line_;
  const uint64_t self_;                                   // our number in `line_`
  MonotonicTime foreign_since_ = MonotonicTime::Never();  // another process has been in the middle of a line
  MonotonicTime retry_line_at_ = MonotonicTime::Never();  // when to look again
  bool is_broken_ = false;                                // no one reads there any more: everything is dropped
  MonotonicTime blocked_since_ = MonotonicTime::Never();  // never: it takes bytes
};

}  // namespace muster
