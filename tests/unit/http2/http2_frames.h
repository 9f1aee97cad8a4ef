// HTTP/2 frames as a client sends them (RFC 9113, 4.1).
#pragma once

#include <cstdint>
#include <string>

namespace muster {

inline constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

inline std::string Frame(int type, int flags, uint32_t stream, const std::string& payload) {
  std::string frame;
  const auto add = [&](size_t value) { frame.push_back(static_cast<char>(value & 0xff)); };
  for (const int shift : {16, 8, 0}) add(payload.size() >> shift);
  add(static_cast<size_t>(type));
  add(static_cast<size_t>(flags));
  for (const int shift : {24, 16, 8, 0}) add(stream >> shift);
  return frame + payload;
}

inline std::string Zeros(size_t size) { return std::string(size, '\0'); }
inline std::string Headers(uint32_t stream, int flags = 0x4) { return Frame(1, flags, stream, Zeros(40)); }

}  // namespace muster
