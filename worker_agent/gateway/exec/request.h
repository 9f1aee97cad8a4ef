// A request for a remote command, and its answer. A launch agent (ms-exec) sends the request to its own agent over a
// local socket. That agent sends it on to the other host's agent. If the answer is kGo, frames follow (frames.h). Pure.
//
//   request  "MUSTREXC", u8 version 1, then little-endian: u64 run, u32 round, and the texts, each after its length:
//            secret, job, from, to (length u8), words (length u32)
//   answer   u8 code (AnswerCode), u16 length, text
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace muster::exec {

// The kernel takes at most 128 KiB for one word of a command, and the shell gets the whole command as one word.
inline constexpr size_t kMaxWordsBytes = 120 * 1024;
inline constexpr size_t kMaxShortBytes = 255;  // of any other text
inline constexpr size_t kMaxExecRequestBytes = kMaxWordsBytes + 2048;
inline constexpr size_t kMaxAnswerBytes = 1024;  // of the text

struct Request {
  uint64_t run = 0;  // set only between agents, like round, job and from
  uint32_t round = 0;
  std::string secret;  // the round's token; between agents the key that the other agent announced
  std::string job;
  std::string from;   // node id
  std::string to;     // the host as the launcher calls it; between agents the node id
  std::string words;  // for the shell; empty: only asks if the host belongs to the round
};

enum class AnswerCode : uint8_t {
  kGo = 0,       // frames follow
  kRefused = 1,  // the text says why, and what to do
  kHere = 2,     // the host is this machine: the launch agent may run the words itself
  kLater = 3,    // between agents: the round has not begun there yet
  kUnknown = 4,  // the host is not in the round
};

struct Answer {
  AnswerCode code = AnswerCode::kGo;
  std::string text;
};

// The error says which text is too long.
absl::StatusOr<std::string> RequestBytes(const Request& request);
std::string AnswerBytes(Answer answer);

// Each takes one message from the front of `bytes`. Returns nothing while the message is incomplete, and an error if
// the bytes are no such message.
absl::StatusOr<std::optional<Request>> TakeRequest(std::string_view& bytes);
absl::StatusOr<std::optional<Answer>> TakeAnswer(std::string_view& bytes);

}  // namespace muster::exec
