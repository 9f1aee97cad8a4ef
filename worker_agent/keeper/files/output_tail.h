// The end of a process's output, as bytes, for `ms-ctl logs`. Reading it changes nothing, so that any number of readers
// can follow, each from its own place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace muster::agent {

// The answer to a reader. Clean text: valid UTF-8, without control characters except tabs and line feeds.
struct OutputPart {
  std::string text;        // whole lines, with their ends
  std::string unfinished;  // the text after the last line's end, cut at kMaxLogLineBytes
  uint64_t end = 0;        // where the next part begins, in bytes since the process began
  bool has_gap = false;    // whole lines between the reader's place and `text` are left out
};

class OutputTail {
 public:
  static constexpr size_t kMaxBytes = 64 * 1024;        // the latest bytes, which can be read again
  static constexpr size_t kMaxLogLineBytes = 4 * 1024;  // longer lines are cut

  void Feed(std::string_view bytes);

  // Returns at most the last `lines` lines after `after`, which is 0 or the `end` of an earlier part.
  OutputPart Read(uint64_t after, uint32_t lines) const;

 private:
  // Returns where the line begins that contains byte number `byte` of bytes_.
  uint64_t LineStartOf(size_t byte) const;

  std::string bytes_;        // the latest output, at most 2 * kMaxBytes
  uint64_t total_ = 0;       // all bytes so far: the position at which bytes_ ends
  uint64_t line_start_ = 0;  // where the line begins that contains the first byte of bytes_
};

}  // namespace muster::agent
