// Messages between the agent and ms-pmix over a pair of sockets. A frame has a kind and some bytes. Everything is
// inline, because ms-pmix links none of Muster's libraries.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/bytes.h"

namespace muster::pmix {

enum class Kind : char {
  // Sent by the agent:
  kSetup = 'S',     // lines of "name=value" (setup.h); the first message, sent once
  kGathered = 'G',  // the data that all agents gave to the fence that is under way
  kFenceFailed = 'E',
  kModexOf = 'N',      // a rank (coded as a length), and its data
  kModexFailed = 'M',  // a rank (coded as a length) for which no data were found
  kNamed = 'W',        // the answer to a kName: its token (coded as a length), a NameResult, and the value, if found
  kPing = 'P',         // ms-pmix answers with a kPong, after all earlier messages
  // Sent by ms-pmix:
  kReady = 'R',      // for each slot, each NAME=VALUE and a zero byte; one more zero byte after each slot
  kFailed = 'X',     // the reason why ms-pmix can't serve; it ends then
  kConnected = 'C',  // a rank, in digits
  kFinalized = 'Z',  // a rank, in digits
  kAborted = 'A',    // "RANK STATUS MESSAGE"
  kFence = 'F',      // the data that this agent's ranks give to the next fence
  kModex = 'D',      // for each rank of this agent: its number and a length (both coded as lengths), and its data
  kAsk = 'Q',        // in digits: the rank whose data one of this agent's ranks wants
  kName = 'B',       // a NameRequest
  kPong = 'O',
};

// A name that ranks publish for each other.
struct NameRequest {
  char what = 'L';   // 'P': publish, 'L': look up, 'U': unpublish
  size_t token = 0;  // below 2^32; comes back with the answer
  std::string name;
  std::string value;  // to publish
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
inline constexpr size_t kHeadBytes = kLengthBytes + 1;  // the number of bytes, and the kind

inline std::string Encode(Kind kind, const std::string& bytes) {
  std::string text = LengthText(bytes.size());
  text.push_back(static_cast<char>(kind));
  return text + bytes;
}

// Takes the first frame off `input`, if it is complete. Sets `is_broken` if the input is no frame; nothing can follow
// then.
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
