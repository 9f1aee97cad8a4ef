// Writes and reads binary messages: numbers of a fixed width in one byte order, and texts after their length. The
// reader trusts no input: every text has a length limit, and a missing or too long value makes the reader bad. Uses
// only the standard library and is all inline, because ms-pmix, which uses it, links no other Muster code.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace muster {

namespace bytes_internal {

template <typename Number>
struct Unsigned : std::make_unsigned<Number> {};
template <>
struct Unsigned<bool> {
  using type = uint8_t;
};

}  // namespace bytes_internal

template <std::endian kOrder>
class ByteWriter {
 public:
  // Writes an integer, a bool or an enumeration in as many bytes as its type has.
  template <typename Number>
  ByteWriter& Put(Number number) {
    if constexpr (std::is_enum_v<Number>) {
      return Put(static_cast<std::underlying_type_t<Number>>(number));
    } else {
      using Rest = typename bytes_internal::Unsigned<Number>::type;
      const auto rest = static_cast<Rest>(number);
      for (size_t i = 0; i < sizeof(Rest); ++i) {
        const size_t at = kOrder == std::endian::little ? i : sizeof(Rest) - 1 - i;
        out_.push_back(static_cast<char>(static_cast<unsigned char>(rest >> (8 * at))));
      }
      return *this;
    }
  }
  ByteWriter& Bytes(std::string_view bytes) {
    out_.append(bytes);
    return *this;
  }
  // Writes the length as a `Length`, then the text. Cuts a text that is too long for `Length`, so the caller must check
  // its size before.
  template <typename Length>
  ByteWriter& Text(std::string_view text) {
    text = text.substr(0, std::numeric_limits<Length>::max());
    return Put(static_cast<Length>(text.size())).Bytes(text);
  }
  std::string Take() { return std::move(out_); }

 private:
  std::string out_;
};

// Once the reader is bad (see is_good), every further value is 0 or empty.
template <std::endian kOrder>
class ByteReader {
 public:
  // `bytes` must outlive the reader and what it returns.
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  template <typename Number>
  Number Take() {
    using Value = typename bytes_internal::Unsigned<Number>::type;
    Value value = 0;
    const std::string_view bytes = Bytes(sizeof(Value));
    for (size_t i = 0; i < bytes.size(); ++i) {
      const size_t at = kOrder == std::endian::little ? i : sizeof(Value) - 1 - i;
      value = static_cast<Value>(value | static_cast<Value>(Value{static_cast<unsigned char>(bytes[i])} << (8 * at)));
    }
    if (std::is_same_v<Number, bool> && value > 1) Refuse();
    return static_cast<Number>(value);
  }
  std::string_view Bytes(size_t size) {
    if (!is_good_ || size > rest_.size()) {
      Refuse();
      return {};
    }
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }
  // Reads a text of at most `most` bytes.
  template <typename Length>
  std::string_view Text(size_t most = std::numeric_limits<Length>::max()) {
    const size_t size = Take<Length>();
    if (size > most) Refuse();
    return Bytes(size);
  }

  void Refuse() { is_good_ = false; }
  bool is_good() const { return is_good_; }
  // True if nothing was missing and nothing is left.
  bool IsDone() const { return is_good_ && rest_.empty(); }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
  bool is_good_ = true;
};

using LittleEndianWriter = ByteWriter<std::endian::little>;
using LittleEndianReader = ByteReader<std::endian::little>;
using BigEndianWriter = ByteWriter<std::endian::big>;
using BigEndianReader = ByteReader<std::endian::big>;

// A length prefix: 4 bytes, lowest byte first. For formats that are a sequence of texts, each after its length.
inline constexpr size_t kLengthBytes = 4;
inline std::string LengthText(size_t length) { return LittleEndianWriter().Put(static_cast<uint32_t>(length)).Take(); }
// Removes the length prefix from the front of `text` and returns its value; nullopt if `text` is shorter than a prefix.
inline std::optional<size_t> TakeLength(std::string_view& text) {
  LittleEndianReader reader(text);
  const uint32_t length = reader.Take<uint32_t>();
  if (!reader.is_good()) return std::nullopt;
  text = reader.rest();
  return length;
}

}  // namespace muster
