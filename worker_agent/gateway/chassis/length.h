// Lengths as agents and ms-pmix write them: 4 bytes, lowest first. ms-pmix links nothing of ours, hence only inline.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace muster::agent {

inline constexpr size_t kLengthBytes = 4;

inline std::string LengthText(size_t length) {
  std::string text;
  for (size_t i = 0; i < kLengthBytes; ++i) text.push_back(static_cast<char>((length >> (8 * i)) & 0xff));
  return text;
}

// Takes it off the front; nothing if there is none.
inline std::optional<size_t> TakeLength(std::string_view& text) {
  if (text.size() < kLengthBytes) return std::nullopt;
  size_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) length |= size_t{static_cast<unsigned char>(text[i])} << (8 * i);
  text.remove_prefix(kLengthBytes);
  return length;
}

}  // namespace muster::agent
