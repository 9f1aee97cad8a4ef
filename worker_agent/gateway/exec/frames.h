// What both ends of a remote command tell each other, once it was let in: the launch agent that stands for it
// (program/main.cc), and the process beside the command (holder.h). The agents between them pass bytes on. Pure.
//
// A frame: u8 kind, u32 length (little-endian), as many bytes. Output comes as fast as it is taken, since who does not
// read stops the other side; of stdin at most kInputWindow bytes are under way, so that a signal never waits behind
// what the command does not read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster::exec {

enum class FrameKind : char {
  kRun = 'r',     // the words, first of all
  kInput = 'i',   // stdin; empty: its end
  kCredit = 'c',  // u32: so many bytes of stdin were taken
  kOutput = 'o',
  kError = 'e',
  kSignal = 's',  // u32, the number
  kUnread = 'u',  // u32, 1 or 2: nobody reads stdout or stderr any more
  kExit = 'x',    // u32: the exit code, 128 + signal; the last one
};

inline constexpr size_t kMaxFrameBytes = 128 * 1024;
inline constexpr size_t kPieceBytes = 16 * 1024;   // of input and output at once
inline constexpr size_t kInputWindow = 64 * 1024;  // less than every buffer on the way holds

struct Frame {
  FrameKind kind = FrameKind::kExit;
  std::string bytes;
  // Of kCredit, kSignal, kUnread and kExit; 0 where it is none.
  uint32_t number() const;
};

std::string FrameBytes(FrameKind kind, std::string_view bytes);
std::string FrameBytes(FrameKind kind, uint32_t number);

class FrameReader {
 public:
  void Add(std::string_view bytes) { in_ += bytes; }
  std::optional<Frame> Take();
  // What comes is no frame: nothing more is taken.
  bool is_broken() const { return is_broken_; }

 private:
  std::string in_;
  bool is_broken_ = false;
};

}  // namespace muster::exec
