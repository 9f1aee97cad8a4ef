// From a process's bytes to lines that may be shown and sent anywhere.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace muster::agent {

// Valid UTF-8 of at most `max_bytes`: terminal escape sequences and control characters are left out (tabs stay, and
// newlines if `keeps_newlines`), each byte that isn't UTF-8 becomes '?', and no character is cut in two.
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
  // Returns that line, if a '\r' began it or stands at its end: the state of a progress bar. Empty: there is none.
  std::string_view Progress() const { return is_progress_ || has_return_ ? line_ : std::string_view(); }

 private:
  void Append(std::string_view bytes, const Emit& emit);

  const size_t max_bytes_;
  const Overlong overlong_;
  std::string line_;
  bool has_return_ = false;   // a '\r' came last
  bool is_progress_ = false;  // one began this line
};

}  // namespace muster::agent
