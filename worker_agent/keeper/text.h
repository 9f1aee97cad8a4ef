// Turns the bytes that a process writes into lines that are safe to show on a terminal and to send.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace muster::agent {

// Returns `bytes` as valid UTF-8 of at most `max_bytes`. Leaves out terminal escape sequences and control characters,
// except tabs, and except newlines if `keeps_newlines`. Replaces each byte that isn't UTF-8 by '?', and cuts no
// character in two.
std::string CleanText(std::string_view bytes, size_t max_bytes, bool keeps_newlines = false);

// Cuts a stream of bytes into lines. "\r\n" ends a line like "\n"; a lone '\r' starts the line over, so that the last
// state of a progress bar remains.
class LineSplitter {
 public:
  enum class Overlong { kTruncate, kSplit };
  using Emit = std::function<void(std::string&& line)>;  // without the line's end

  LineSplitter(size_t max_line_bytes, Overlong overlong) : max_bytes_(max_line_bytes), overlong_(overlong) {}

  void Feed(std::string_view bytes, const Emit& emit);
  // Emits the line that has no end yet.
  void Finish(const Emit& emit);
  // Forgets the line that has no end yet.
  void Reset();
  // Returns the line that has no end yet if a '\r' began it or stands at its end, because then it is the state of a
  // progress bar. Otherwise returns an empty text.
  std::string_view Progress() const { return is_progress_ || has_return_ ? line_ : std::string_view(); }

 private:
  void Append(std::string_view bytes, const Emit& emit);

  const size_t max_bytes_;
  const Overlong overlong_;
  std::string line_;
  bool has_return_ = false;   // a '\r' came last
  bool is_progress_ = false;  // a '\r' began this line
};

}  // namespace muster::agent
