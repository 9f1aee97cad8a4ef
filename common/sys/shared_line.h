// The state of the last line in a file that several processes write to: whether one of them is in the middle of a line.
// For the agent and its keeper, on stderr.
#pragma once

#include <atomic>
#include <cstdint>

#include "absl/time/time.h"

namespace muster {

class SharedLine {
 public:
  // The time to wait for the end of a line, which usually comes at once, …
  static constexpr absl::Duration kLinePatience = absl::Milliseconds(50);
  // … and for a process that is writing just now: after it, that process is dead or stopped.
  static constexpr absl::Duration kStuckPatience = absl::Milliseconds(500);

  enum class Taken { kNo, kYes, kInTheMiddle };

  // Returns stderr's, in memory that this process shares with all that it forks from now on. Null if there is no
  // memory.
  static SharedLine* OfStderr();
  // Makes OfStderr null from now on; for a forked process with another stderr.
  static void LeaveStderr();

  // Call before each write: returns whether `writer` (not 0, less than 2^63) may write now. kNo: another process
  // writes, or is in the middle of a line, or has waited for longer; ask again. kInTheMiddle: another line is open but
  // has not gone on within `waited`: begin a new line.
  Taken Take(uint64_t writer, absl::Duration waited);
  // Call after each write, also a failed one. `ends_line`: the last byte that `writer` wrote was a line break, or it
  // wrote nothing.
  void Release(uint64_t writer, bool ends_line);
  // True if another process waits for a line's end and comes next: lines may follow each other without a pause.
  bool IsWanted() const { return next_ != 0; }

 private:
  std::atomic<uint64_t> state_{0};  // twice the holder, + 1 while it writes; 0: a line has ended
  std::atomic<uint64_t> next_{0};   // 0: no process waits
  static_assert(std::atomic<uint64_t>::is_always_lock_free, "processes share it");
};

}  // namespace muster
