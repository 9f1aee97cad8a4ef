// What the agent and ms-pmix tell each other over their pair of sockets: frames of a kind and some bytes. ms-pmix links
// nothing of ours but this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace muster::pmix {

enum class Kind : char {
  // The agent's.
  kSetup = 'S',     // lines of "name=value", see ms_pmix.cc; once, first
  kGathered = 'G',  // what all agents gave to the fence that is under way
  kFenceFailed = 'E',
  kPing = 'P',  // answered by a pong, behind all that was to be told before
  // ms-pmix's.
  kReady = 'R',      // for each slot NAME=VALUE, each with a zero behind it, and one more zero behind the slot's last
  kFailed = 'X',     // why it can't serve; it ends
  kConnected = 'C',  // a rank, in digits
  kFinalized = 'Z',  // a rank, in digits
  kAborted = 'A',    // "RANK STATUS MESSAGE"
  kFence = 'F',      // what this agent's ranks give to the next fence
  kPong = 'O',
};

struct Frame {
  Kind kind = Kind::kPing;
  std::string bytes;
};

inline constexpr size_t kMaxFrameBytes = 32 * 1024 * 1024;
inline constexpr size_t kHeadBytes = 5;  // length of the bytes, lowest first, and the kind

inline std::string Encode(Kind kind, const std::string& bytes) {
  std::string text;
  for (int i = 0; i < 4; ++i) text.push_back(static_cast<char>((bytes.size() >> (8 * i)) & 0xff));
  text.push_back(static_cast<char>(kind));
  return text + bytes;
}

// Takes the first frame off `input`, if it is whole. `is_broken`: it is none, and nothing behind it can be one.
inline std::optional<Frame> TakeFrame(std::string& input, bool& is_broken) {
  if (input.size() < kHeadBytes) return std::nullopt;
  size_t length = 0;
  for (size_t i = 0; i < 4; ++i) length |= size_t{static_cast<unsigned char>(input[i])} << (8 * i);
  if (length > kMaxFrameBytes) {
    is_broken = true;
    return std::nullopt;
  }
  if (input.size() < kHeadBytes + length) return std::nullopt;
  Frame frame{static_cast<Kind>(input[4]), input.substr(kHeadBytes, length)};
  input.erase(0, kHeadBytes + length);
  return frame;
}

}  // namespace muster::pmix
