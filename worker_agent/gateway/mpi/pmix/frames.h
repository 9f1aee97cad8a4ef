// Messages between the agent and ms-pmix over their pair of sockets: frames of a kind and some bytes. ms-pmix links
// none of Muster's libraries, so this is all inline.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/bytes.h"

namespace muster::pmix {

enum class Kind : char {
  // The agent's.
  kSetup = 'S',     // lines of "name=value", see setup.h; once, first
  kGathered = 'G',  // the data that all agents gave to the fence under way
  kFenceFailed = 'E',
  kModexOf = 'N',      // a rank, as a length, and its data
  kModexFailed = 'M',  // a rank, as a length: its data is not known
  kNamed = 'W',        // the answer to a kName: its token, as a length, a NameResult, and the value found
  kPing = 'P',         // answered by a pong, after all earlier messages
  // ms-pmix's.
  kReady = 'R',      // for each slot NAME=VALUE, each with a zero after it, and one more zero after the slot's last
  kFailed = 'X',     // the reason why it can't serve; it ends
  kConnected = 'C',  // a rank, in digits
  kFinalized = 'Z',  // a rank, in digits
  kAborted = 'A',    // "RANK STATUS MESSAGE"
  kFence = 'F',      // the data that this agent's ranks give to the next fence
  kModex = 'D',      // for each rank of this agent: its number and a length, as lengths, and its data
  kAsk = 'Q',        // a rank, in digits, from which a rank here wants data
  kName = 'B',       // a NameRequest
  kPong = 'O',
};

// A name that ranks publish for each other.
struct NameRequest {
  char what = 'L';   // 'P': publish, 'L': look up, 'U': unpublish
  size_t token = 0;  // below 2^32; comes back with the answer
  std::string name;
  std::string value;  // of a publication
};
enum class NameResult : char { kDone = '0', kNotThere = '1', kTaken = '2', kFailed = '3' };

inline std::string NameBytes(const NameRequest& request) {
  return LengthText(request.token) + request.what + LengthText(request.name.size()) + request.name + request.value;
}

inline std::optional<NameRequest> TakeName(std::string_view bytes) {
  NameRequest request;
  const std::optional<size_t> token = TakeLength(bytes);
  if (!token || bytes.empty()) return std::nullopt;
  request.token = *token;
  request.what = bytes[0];
  bytes.remove_prefix(1);
  const std::optional<size_t> length = TakeLength(bytes);
  if (!length || *length > bytes.size()) return std::nullopt;
  request.name = bytes.substr(0, *length);
  request.value = bytes.substr(*length);
  return request;
}

struct Frame {
  Kind kind = Kind::kPing;
  std::string bytes;
};

inline constexpr size_t kMaxFrameBytes = 32 * 1024 * 1024;
inline constexpr size_t kHeadBytes = kLengthBytes + 1;  // the bytes' length, and the kind

inline std::string Encode(Kind kind, const std::string& bytes) {
  std::string text = LengthText(bytes.size());
  text.push_back(static_cast<char>(kind));
  return text + bytes;
}

// Takes the first frame off `input`, if it is complete. `is_broken`: it is not a frame, and no frame can follow.
inline std::optional<Frame> TakeFrame(std::string& input, bool& is_broken) {
  if (input.size() < kHeadBytes) return std::nullopt;
  std::string_view rest = input;
  const size_t length = *TakeLength(rest);
  if (length > kMaxFrameBytes) {
    is_broken = true;
    return std::nullopt;
  }
  if (input.size() < kHeadBytes + length) return std::nullopt;
  Frame frame{static_cast<Kind>(rest[0]), input.substr(kHeadBytes, length)};
  input.erase(0, kHeadBytes + length);
  return frame;
}

}  // namespace muster::pmix
