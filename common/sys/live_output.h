// Writes to the terminal, pipe or file behind stdout or stderr without ever blocking the caller.
//
// Bytes that the destination doesn't take at once wait in a bounded buffer. While the buffer is nearly full, the
// training processes that write must wait as well (ShouldPause), as they would without a keeper in between. So a slow
// reader loses nothing. A reader that takes nothing for kStallPatience counts as stuck. From then on the oldest bytes
// are dropped, and a line in their place says how many.
//
// Our own lines (WriteLines) never appear in the middle of a line that a training process (Write) or another of our
// processes (SharedLine) has begun. The end of such a line usually comes at once, because a program without a buffer
// writes text and line break separately. We wait at most kLinePatience for that end, and then write a line break first.
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
  static constexpr size_t kMaxHeldBytes = 64 * 1024;  // of our lines that wait for another line's end; beyond this they
                                                      // don't wait

  // Returns a complete line that says how many bytes were dropped.
  using DropNote = std::function<std::string(uint64_t bytes)>;

  // The caller keeps `fd` and must keep it open. Never changes its O_NONBLOCK, because other processes share that flag.
  // `line` must outlive this; null: no other process of ours writes to this destination.
  explicit LiveOutput(int fd, SharedLine* line = nullptr, DropNote drop_note = NoteOfWorker);

  // Writes a chunk, or drops it as a whole. Pass whole lines if possible.
  void Write(std::string_view chunk, MonotonicTime now);
  // Writes our own lines, which must be complete.
  void WriteLines(std::string_view lines, MonotonicTime now);
  void Flush(MonotonicTime now);

  bool ShouldPause(MonotonicTime now) const;
  // Returns when ShouldPause becomes false even if the reader takes nothing; never if nothing waits.
  MonotonicTime StallDeadline() const;

  // Returns when to call Flush again because a line has not ended yet; never if no line is open.
  MonotonicTime LineDeadline() const;
  // Waits for the end of the open line, for at most SharedLine::kStuckPatience. Only for callers that may block.
  void AwaitLine(const std::function<MonotonicTime()>& now);

  // Returns why a file could not take all bytes (a full disk, a quota, a limit), as errno; 0 if it has taken all.
  int lost_error() const { return lost_error_; }

  bool has_pending() const { return !chunks_.empty() || !held_.empty(); }
  size_t pending_bytes() const { return pending_bytes_; }
  // True if bytes wait until the destination takes them: watch_fd() must be watched for writing.
  bool awaits_room() const { return !chunks_.empty() && retry_line_at_.is_never(); }
  // Closes the descriptor that it has opened itself, and writes nothing more.
  void Abandon();
  int watch_fd() const { return own_fd_.is_open() ? own_fd_.get() : fd_; }

 private:
  enum class Kind { kNeverBlocks, kOwnDescription, kSocket, kShared };
  struct Chunk {
    std::string bytes;
    uint64_t reported_drops = 0;  // if this chunk is the note about dropped bytes: how many it reports
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
  size_t front_written_ = 0;  // how much of chunks_.front() is written
  size_t pending_bytes_ = 0;
  uint64_t dropped_bytes_ = 0;  // they belong after the front chunk if its writing has begun, else before it
  int lost_error_ = 0;
  bool ends_in_newline_ = true;      // everything written so far ends with a line break
  bool will_end_in_newline_ = true;  // everything written and pending ends with a line break
  std::string held_;                 // our lines that wait for the end of another line
  MonotonicTime held_since_;
  SharedLine* const line_;
  const uint64_t self_;                                   // the number of this object in `line_`
  MonotonicTime foreign_since_ = MonotonicTime::Never();  // since when another process is in the middle of a line
  MonotonicTime retry_line_at_ = MonotonicTime::Never();  // when to check again
  bool is_broken_ = false;                                // no one reads there any more: everything is dropped
  MonotonicTime blocked_since_ = MonotonicTime::Never();  // since when it takes no bytes; Never(): it takes them
};

}  // namespace muster
