// What asks for a remote command, and what it is answered: from a launch agent (ms-exec) to its own agent over a local
// socket, and from there to the agent of the other host. Behind a good answer come frames (frames.h). Pure.
//
//   request  "MUSTREXC", u8 version 1, then little-endian: u64 run, u32 round, and each with its length in front
//            (u8): secret, job, from, to; (u32): words
//   answer   u8 verdict, u16 length, text
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace muster::exec {

// The kernel takes 128 KiB for one word of a command, and the shell gets all of them as one.
inline constexpr size_t kMaxWordsBytes = 120 * 1024;
inline constexpr size_t kMaxShortBytes = 255;  // of every other text
inline constexpr size_t kMaxExecRequestBytes = kMaxWordsBytes + 2048;
inline constexpr size_t kMaxAnswerBytes = 1024;  // of the text

struct Request {
  uint64_t run = 0;  // between agents, as are round, job and from
  uint32_t round = 0;
  std::string secret;  // the token of the round; between agents the key that the other one has told
  std::string job;
  std::string from;   // node id
  std::string to;     // the host as the launcher calls it; between agents the node id
  std::string words;  // for the shell; empty: the asker only wants to know whether the host is of the round
};

enum class Verdict : uint8_t {
  kGo = 0,       // frames follow
  kRefused = 1,  // the text says why, and what to do
  kHere = 2,     // the host is this machine: the asker may run the words itself
  kLater = 3,    // between agents: its round has not begun there yet
  kUnknown = 4,  // the host is none of the round
};

struct Answer {
  Verdict verdict = Verdict::kGo;
  std::string text;
};

// The error says which text is too long.
absl::StatusOr<std::string> RequestBytes(const Request& request);
std::string AnswerBytes(Answer answer);

// Takes one from the front of `bytes`. None: it has not come whole yet. The error: what comes is none.
absl::StatusOr<std::optional<Request>> TakeRequest(std::string_view& bytes);
absl::StatusOr<std::optional<Answer>> TakeAnswer(std::string_view& bytes);

}  // namespace muster::exec
