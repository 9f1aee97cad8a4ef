#include "common/text.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace muster {
namespace {

// The length of the UTF-8 character that begins at `at`; 0 if there is none.
size_t Utf8LengthAt(const std::string& text, size_t at) {
  const auto byte = [&](size_t index) { return static_cast<uint8_t>(text[index]); };
  const uint8_t first = byte(at);
  size_t length = 0;
  if (first < 0x80) {
    length = 1;
  } else if (first >= 0xC2 && first < 0xE0) {
    length = 2;
  } else if (first >= 0xE0 && first < 0xF0) {
    length = 3;
  } else if (first >= 0xF0 && first < 0xF5) {
    length = 4;
  }
  if (length == 0 || at + length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  }
  if (first == 0xE0 && byte(at + 1) < 0xA0) return 0;   // overlong
  if (first == 0xED && byte(at + 1) >= 0xA0) return 0;  // surrogates
  if (first == 0xF0 && byte(at + 1) < 0x90) return 0;   // overlong
  if (first == 0xF4 && byte(at + 1) >= 0x90) return 0;  // beyond U+10FFFF
  return length;
}

}  // namespace

std::string EscapeControl(const std::string& text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const auto byte = static_cast<uint8_t>(text[at]);
    const size_t length = Utf8LengthAt(text, at);
    const bool is_c1 = length == 2 && byte == 0xC2 && static_cast<uint8_t>(text[at + 1]) < 0xA0;
    if (byte == '\n') {
      out += "\\n";
    } else if (byte == '\t') {
      out += "\\t";
    } else if (byte == '\r') {
      out += "\\r";
    } else if (length == 0 || byte < 0x20 || byte == 0x7F) {
      absl::StrAppendFormat(&out, "\\x%02x", byte);
    } else if (is_c1) {
      absl::StrAppendFormat(&out, "\\x%02x", static_cast<uint8_t>(text[at + 1]));
    } else {
      out.append(text, at, length);
    }
    at += length == 0 ? 1 : length;
  }
  return out;
}

std::string Quoted(const std::string& text, size_t limit) {
  if (text.size() <= limit) return absl::StrCat("\"", EscapeControl(text), "\"");
  size_t end = limit;
  while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) --end;  // not within a character
  return absl::StrCat("\"", EscapeControl(text.substr(0, end)), "…\"");
}

void CutText(std::string& text, size_t limit) {
  if (text.size() <= limit) return;
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0) == 0x80) --limit;
  text.resize(limit);
}

}  // namespace muster
