// The state of the last line in a file that several processes write to: is one of them in the middle of a line? The
// agent and its keeper use it for stderr.
#pragma once

#include <atomic>
#include <cstdint>

#include "absl/time/time.h"

namespace muster {

class SharedLine {
 public:
  // The time to wait for the end of a line, which usually comes at once.
  static constexpr absl::Duration kLinePatience = absl::Milliseconds(50);
  // The time to wait for a process that is writing right now. After that, the process is dead or stopped.
  static constexpr absl::Duration kStuckPatience = absl::Milliseconds(500);

  enum class Taken { kNo, kYes, kInTheMiddle };

  // Returns the object for stderr. It is in memory that this process shares with all processes that it forks from now
  // on. Null if there is no memory.
  static SharedLine* OfStderr();
  // Makes OfStderr return null from now on. For a forked process with another stderr.
  static void LeaveStderr();

  // Call it before each write. Returns whether `writer` (not 0, less than 2^63) may write now. `waited` is how long it
  // has waited so far.
  // kNo: another process is writing, is in the middle of a line, or has waited for longer. Ask again.
  // kInTheMiddle: yes, but another process's line is open and was not continued within `waited`. Begin a new line.
  Taken Take(uint64_t writer, absl::Duration waited);
  // Call it after each write, even if the write failed. `ends_line`: the last byte that `writer` wrote was a line
  // break, or it wrote nothing.
  void Release(uint64_t writer, bool ends_line);
  // True if another process waits for the end of our line, so that it should write next. Without this check, one
  // process's lines could follow each other without a pause.
  bool IsWanted() const { return next_ != 0; }

 private:
  std::atomic<uint64_t> state_{0};  // twice the number of the line's process, plus 1 while it writes; 0: no line is
                                    // open
  std::atomic<uint64_t> next_{0};   // the process that waits; 0: none
  static_assert(std::atomic<uint64_t>::is_always_lock_free, "processes share it");
};

}  // namespace muster
