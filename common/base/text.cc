// Characters that are escaped, besides bytes that are no UTF-8:
//
//   C0, DEL, C1              line breaks and escape sequences: they can forge log lines and control terminals
//   U+2028, U+2029           line breaks as well, where a page or an editor shows a log
//   the bidirectional ones   show the text after them in another order: "gpj.exe" as "exe.jpg"
//   the invisible ones       soft hyphen, zero width space, word joiner, byte order mark, tags: they make two names
//                            look the same
//
// U+200C and U+200D are not escaped, though they are invisible: Persian and the scripts of India need them.
#include "common/base/text.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace muster {
namespace {

// Returns the length of the UTF-8 character that begins at `at`; 0 if there is none.
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

// Returns the code point of the character at `at`, which has `length` bytes.
char32_t CodePointAt(const std::string& text, size_t at, size_t length) {
  const auto byte = [&](size_t index) { return static_cast<uint8_t>(text[index]); };
  if (length == 1) return byte(at);
  char32_t code = byte(at) & (0x7F >> length);
  for (size_t i = 1; i < length; ++i) code = code << 6 | (byte(at + i) & 0x3F);
  return code;
}

bool IsControl(char32_t code) {
  struct Range {
    char32_t first, last;
  };
  constexpr Range kRanges[] = {
      {0x0000, 0x001F},   {0x007F, 0x009F},   {0x00AD, 0x00AD},   {0x061C, 0x061C},  // Arabic letter mark
      {0x200B, 0x200B},   {0x200E, 0x200F},   {0x2028, 0x202E},   {0x2060, 0x206F},
      {0xFEFF, 0xFEFF},   {0xFFF9, 0xFFFB},                        // interlinear annotation
      {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE007F},  // shorthand, music, tags
  };
  return std::any_of(std::begin(kRanges), std::end(kRanges),
                     [code](const Range& range) { return code >= range.first && code <= range.last; });
}

// Returns the text with `escape(code)` for each control character and `escape_byte(byte)` for each byte that is no
// UTF-8.
template <typename Escape, typename EscapeByte>
std::string Escaped(const std::string& text, Escape escape, EscapeByte escape_byte) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t length = Utf8LengthAt(text, at);
    if (length == 0) {
      out += escape_byte(static_cast<uint8_t>(text[at++]));
      continue;
    }
    const char32_t code = CodePointAt(text, at, length);
    if (IsControl(code)) {
      out += escape(code);
    } else {
      out.append(text, at, length);
    }
    at += length;
  }
  return out;
}

std::string Hex(uint8_t byte) { return absl::StrFormat("\\x%02x", byte); }

std::string TwoUnits(int64_t value, int64_t per_unit, const char* unit, const char* small_unit) {
  const int64_t rest = value % per_unit;
  return absl::StrCat(value / per_unit, " ", unit, rest == 0 ? "" : absl::StrCat(" ", rest, " ", small_unit));
}

}  // namespace

std::string EscapeControl(const std::string& text) {
  const auto escape = [](char32_t code) -> std::string {
    if (code == '\n') return "\\n";
    if (code == '\t') return "\\t";
    if (code == '\r') return "\\r";
    if (code < 0xA0) return Hex(static_cast<uint8_t>(code));
    if (code < 0x10000) return absl::StrFormat("\\u%04x", static_cast<uint32_t>(code));
    return absl::StrFormat("\\U%08x", static_cast<uint32_t>(code));
  };
  return Escaped(text, escape, Hex);
}

std::string EscapeJson(const std::string& json) {
  const auto escape = [](char32_t code) -> std::string {
    if (code == '\n') return "\n";  // a line feed between members; in a string it is already escaped
    if (code < 0x10000) return absl::StrFormat("\\u%04x", static_cast<uint32_t>(code));
    const uint32_t above = static_cast<uint32_t>(code) - 0x10000;  // becomes two surrogates
    return absl::StrFormat("\\u%04x\\u%04x", 0xD800 + (above >> 10), 0xDC00 + (above & 0x3FF));
  };
  return Escaped(json, escape, [](uint8_t) { return "\\ufffd"; });
}

std::string Quoted(const std::string& text, size_t limit) {
  std::string shown = text;
  CutText(shown, limit);
  return absl::StrCat("\"", EscapeControl(shown), shown.size() < text.size() ? "…\"" : "\"");
}

void CutText(std::string& text, size_t limit) {
  if (text.size() <= limit) return;
  // Don't cut within a character: at most three bytes follow its first one. (Longer sequences are no UTF-8.)
  size_t end = limit;
  while (end > 0 && limit - end < 3 && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
}

std::string FormatAge(absl::Duration duration) {
  if (duration == absl::InfiniteDuration()) return "for ever";
  const int64_t ms = absl::ToInt64Milliseconds(duration + absl::Microseconds(500));
  if (ms <= 0) return "0 s";
  if (ms < 100) return absl::StrCat(ms, " ms");
  const int64_t tenths = (ms + 50) / 100;
  if (tenths < 100) return absl::StrCat(tenths / 10, tenths % 10 == 0 ? "" : absl::StrCat(".", tenths % 10), " s");
  const int64_t seconds = (ms + 500) / 1000;
  if (seconds < 120) return absl::StrCat(seconds, " s");
  if (seconds < 3600) return TwoUnits(seconds, 60, "min", "s");
  const int64_t minutes = (seconds + 30) / 60;
  if (minutes < 48 * 60) return TwoUnits(minutes, 60, "h", "min");
  return TwoUnits((minutes + 30) / 60, 24, "d", "h");
}

}  // namespace muster
