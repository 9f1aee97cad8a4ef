// Messages between the two ends of a remote command, once it was let in: the launch agent that stands for the command
// (program/main.cc), and the process beside the command (holder.h). The agents between them pass bytes on. Pure.
//
// A frame: u8 kind, u32 length (little-endian), as many bytes. Output comes as fast as it is taken: a reader that stops
// reading stops the other side. At most kInputWindow bytes of stdin are under way, so that a signal never waits behind
// input that the command does not read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster::exec {

enum class FrameKind : char {
  kRun = 'r',     // the words; the first frame
  kInput = 'i',   // stdin; empty: its end
  kCredit = 'c',  // u32: so many bytes of stdin were taken
  kOutput = 'o',
  kError = 'e',
  kSignal = 's',  // u32, the number
  kUnread = 'u',  // u32, 1 or 2: stdout or stderr has no reader any more
  kExit = 'x',    // u32: the exit code, 128 + signal; the last one
};

inline constexpr size_t kMaxFrameBytes = 128 * 1024;
inline constexpr size_t kPieceBytes = 16 * 1024;   // of input and output at once
inline constexpr size_t kInputWindow = 64 * 1024;  // less than any buffer on the way holds

struct Frame {
  FrameKind kind = FrameKind::kExit;
  std::string bytes;
  // The number in a kCredit, kSignal, kUnread or kExit; 0 if there is none.
  uint32_t number() const;
};

std::string FrameBytes(FrameKind kind, std::string_view bytes);
std::string FrameBytes(FrameKind kind, uint32_t number);

class FrameReader {
 public:
  void Add(std::string_view bytes) { in_ += bytes; }
  std::optional<Frame> Take();
  // True after bytes that are no frame; Take then returns nothing more.
  bool is_broken() const { return is_broken_; }

 private:
  std::string in_;
  bool is_broken_ = false;
};

}  // namespace muster::exec
