// Messages between the two ends of a remote command, after its request was accepted. One end is the launch agent, which
// the launcher started in place of the command (program/main.cc). The other end is the process beside the command
// (program/holder.h). The ms-worker agents between them only pass bytes on. Pure.
//
// A frame is a u8 kind, a u32 length (little-endian), and as many bytes. Output has no window: if its reader stops
// reading, the writer blocks. At most kInputWindow bytes of stdin are under way, so that a signal never waits behind
// input that the command does not read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster::exec {

enum class FrameKind : char {
  kRun = 'r',     // the command's words; the first frame
  kInput = 'i',   // stdin; empty: its end
  kCredit = 'c',  // u32: the command has taken this many bytes of stdin
  kOutput = 'o',
  kError = 'e',
  kSignal = 's',  // u32, the number
  kUnread = 'u',  // u32, 1 or 2: stdout or stderr has no reader any more
  kExit = 'x',    // u32: the exit code, or 128 + signal; the last frame
};

inline constexpr size_t kMaxFrameBytes = 128 * 1024;
inline constexpr size_t kPieceBytes = 16 * 1024;   // of stdin or output in one read
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
