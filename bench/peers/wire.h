// The few lines of protobuf's wire format that the peers' messages need, so that this tree needs no copy of their
// .proto files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace muster::bench {

inline std::string Varint(uint64_t value) {
  std::string out;
  for (; value > 127; value >>= 7) out.push_back(static_cast<char>((value & 127) | 128));
  out.push_back(static_cast<char>(value));
  return out;
}

inline std::string Field(int number, uint64_t value) { return Varint(number << 3) + Varint(value); }

inline std::string Fixed(int number, uint64_t value) {
  std::string out = Varint(number << 3 | 1);
  for (int i = 0; i < 8; ++i) out.push_back(static_cast<char>(value >> (8 * i) & 255));
  return out;
}

inline std::string Field(int number, std::string_view value) {
  return Varint(number << 3 | 2) + Varint(value.size()) + std::string(value);
}

// Counts a field on the outermost level of a message. Of a truncated message it counts what is there.
inline int CountField(std::string_view message, int number) {
  size_t at = 0;
  int count = 0;
  const auto varint = [&message, &at] {
    uint64_t value = 0;
    for (int shift = 0; at < message.size() && shift < 64; shift += 7) {
      const auto byte = static_cast<uint8_t>(message[at++]);
      value |= static_cast<uint64_t>(byte & 127) << shift;
      if (byte < 128) break;
    }
    return value;
  };
  while (at < message.size()) {
    const uint64_t key = varint();
    if (static_cast<int>(key >> 3) == number) ++count;
    switch (key & 7) {
      case 0:
        varint();
        break;
      case 1:
        at += 8;
        break;
      case 2:
        at += varint();
        break;
      default:
        at += 4;
        break;
    }
  }
  return count;
}

}  // namespace muster::bench
