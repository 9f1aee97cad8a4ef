// The first messages on a link, which connects a relay to the store's agent. The relay's hello names the relay's node,
// the session that it continues, and how many bytes it has received in this session. The store's agent answers how many
// bytes it has received. Pure.
//
//   relay   "MUSTRLNK" | u8 version | u8 is new | 16 bytes session | u64 run | u32 round | u64 received
//           | u8 length, job | u8 length, node
//   store   u8 0: go on, or 1: the session is not known here any more | u64 received
//           u8 2 (only to relays of version 2): refused | u64 0 | u16 length, why and what to do; then it closes
//
// A store of version 1 closes the connection when a hello has version 2. A relay of version 1 gives up its session when
// it is refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace muster::torch_store {

// No query of any PyTorch version begins with this byte.
inline constexpr char kLinkByte = 'M';
inline constexpr size_t kSessionBytes = 16;

inline constexpr uint8_t kFirstLinkVersion = 1;
inline constexpr uint8_t kLinkVersion = 2;

struct LinkHello {
  bool is_new = true;   // the store has not accepted this session yet
  std::string session;  // kSessionBytes, random: both a name and a secret
  uint64_t run = 0;
  uint32_t round = 0;
  uint64_t received = 0;
  std::string job;   // at most 255 bytes
  std::string node;  // at most 255 bytes
  uint8_t version = kLinkVersion;
};

std::string HelloBytes(const LinkHello& hello);
// Takes a hello from the front of `bytes`. Returns nothing if more bytes are needed, and an error if this is no hello.
absl::StatusOr<std::optional<LinkHello>> TakeHello(std::string_view& bytes);

inline constexpr size_t kMaxRefusalBytes = 1024;

struct LinkAnswer {
  bool goes_on = false;
  uint64_t received = 0;
  std::string refusal = {};  // why the store's agent refuses this link; empty: it does not
};

std::string AnswerBytes(const LinkAnswer& answer);
absl::StatusOr<std::optional<LinkAnswer>> TakeAnswer(std::string_view& bytes);

}  // namespace muster::torch_store
