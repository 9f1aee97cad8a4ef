// Cuts a fuzzer's input into numbers and texts. Past the end all of them are zero or empty.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace muster {

class FuzzInput {
 public:
  FuzzInput(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  bool IsAtEnd() const { return at_ == size_; }
  uint8_t Byte() { return IsAtEnd() ? 0 : data_[at_++]; }
  // Big-endian.
  uint32_t U16() {
    const uint32_t high = Byte();
    return high << 8 | Byte();
  }
  // Reads a length of 16 bits, and as many of these bytes as there are.
  std::string Text() {
    const size_t wanted = U16();
    const size_t length = std::min(wanted, size_ - at_);
    at_ += length;
    return std::string(reinterpret_cast<const char*>(data_ + at_ - length), length);
  }
  std::string Rest() {
    const size_t begin = at_;
    at_ = size_;
    return std::string(reinterpret_cast<const char*>(data_ + begin), size_ - begin);
  }

 private:
  const uint8_t* data_;
  size_t size_;
  size_t at_ = 0;
};

}  // namespace muster
