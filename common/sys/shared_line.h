// Who is in the middle of a line on a file that several processes write to: the agent and its keeper, on stderr.
#pragma once

#include <atomic>
#include <cstdint>

#include "absl/time/time.h"

namespace muster {

class SharedLine {
 public:
  // How long the end of a line is waited for: it usually comes at once; …
  static constexpr absl::Duration kLinePatience = absl::Milliseconds(50);
  // … and how long somebody who writes just now is: he is dead or stopped.
  static constexpr absl::Duration kStuckPatience = absl::Milliseconds(500);

  enum class Taken { kNo, kYes, kInTheMiddle };

  // That of stderr, in memory that this process shares with all that it forks from now on. Null: there is none left.
  static SharedLine* OfStderr();
  // This process, which was forked, has another stderr: OfStderr is null from now on.
  static void LeaveStderr();

  // Before each write: whether `who` (not 0, less than 2^63) may write now. kNo: another one writes, or is in the
  // middle of a line, or has waited for longer; ask again. kInTheMiddle: so it was, but has not gone on within
  // `waited`: begin a new line.
  Taken Take(uint64_t who, absl::Duration waited);
  // After each write, also one that failed. `ends_line`: nothing, or a line break, was the last that `who` wrote.
  void Release(uint64_t who, bool ends_line);
  // Somebody waits, and comes next where a line ends: lines may follow each other without a pause.
  bool IsWanted() const { return next_ != 0; }

 private:
  std::atomic<uint64_t> state_{0};  // twice the holder, + 1 while it writes; 0: a line has ended
  std::atomic<uint64_t> next_{0};   // 0: nobody waits
  static_assert(std::atomic<uint64_t>::is_always_lock_free, "processes share it");
};

}  // namespace muster
