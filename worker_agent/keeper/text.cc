#include "worker_agent/keeper/text.h"

#include <algorithm>
#include <utility>

namespace muster::agent {
namespace {

// Returns the length of the UTF-8 character at the beginning; 0 if the bytes there are not a valid character (cut,
// overlong, surrogate, beyond U+10FFFF).
size_t CharacterBytes(std::string_view s) {
  auto byte = [&](size_t i) { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0U; };
  auto is_tail = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return is_tail(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (!is_tail(1) || !is_tail(2)) return 0;
    if (first == 0xE0 && byte(1) < 0xA0) return 0;
    if (first == 0xED && byte(1) > 0x9F) return 0;
    return 3;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (!is_tail(1) || !is_tail(2) || !is_tail(3)) return 0;
    if (first == 0xF0 && byte(1) < 0x90) return 0;
    if (first == 0xF4 && byte(1) > 0x8F) return 0;
    return 4;
  }
  return 0;
}

// Returns the length of the terminal escape sequence that begins with the ESC at s[0]: "ESC [ … letter" or "ESC ] …
// BEL".
size_t EscapeBytes(std::string_view s) {
  if (s.size() < 2) return 1;
  if (s[1] == '[') {
    size_t i = 2;
    while (i < s.size() && s[i] >= 0x20 && s[i] < 0x40) ++i;
    return std::min(i + 1, s.size());
  }
  if (s[1] == ']') {
    for (size_t i = 2; i < s.size() && s[i] != '\n'; ++i) {
      if (s[i] == '\a') return i + 1;
      if (s[i] == '\x1b') return std::min(i + 2, s.size());
    }
  }
  return 2;
}

}  // namespace

std::string CleanText(std::string_view bytes, size_t max_bytes, bool keeps_newlines) {
  std::string clean;
  while (!bytes.empty()) {
    size_t length = CharacterBytes(bytes);
    std::string_view character = bytes.substr(0, length);
    if (length == 0) {
      length = 1;
      character = "?";
    } else if (length == 1) {
      const char c = bytes[0];
      if (c == '\x1b') {
        length = EscapeBytes(bytes);
        character = {};
      } else if ((static_cast<unsigned char>(c) < 0x20 && c != '\t' && !(c == '\n' && keeps_newlines)) || c == 0x7F) {
        character = {};
      }
    } else if (length == 2 && bytes[0] == '\xC2' && static_cast<unsigned char>(bytes[1]) < 0xA0) {
      character = {};  // U+0080..U+009F: control characters as well
    }
    if (clean.size() + character.size() > max_bytes) break;
    clean += character;
    bytes.remove_prefix(length);
  }
  return clean;
}

void LineSplitter::Feed(std::string_view bytes, const Emit& emit) {
  while (!bytes.empty()) {
    if (bytes[0] == '\n') {
      has_return_ = is_progress_ = false;
      emit(std::exchange(line_, {}));
      bytes.remove_prefix(1);
    } else if (bytes[0] == '\r') {
      has_return_ = true;
      bytes.remove_prefix(1);
    } else {
      if (has_return_) {
        Reset();
        is_progress_ = true;
      }
      const size_t length = std::min(bytes.find_first_of("\r\n"), bytes.size());
      Append(bytes.substr(0, length), emit);
      bytes.remove_prefix(length);
    }
  }
}

void LineSplitter::Append(std::string_view bytes, const Emit& emit) {
  if (overlong_ == Overlong::kTruncate) {
    line_ += bytes.substr(0, max_bytes_ - std::min(line_.size(), max_bytes_));
    return;
  }
  while (line_.size() + bytes.size() > max_bytes_) {
    const size_t room = max_bytes_ - line_.size();
    line_ += bytes.substr(0, room);
    bytes.remove_prefix(room);
    emit(std::exchange(line_, {}));
  }
  line_ += bytes;
}

void LineSplitter::Finish(const Emit& emit) {
  if (!line_.empty()) emit(std::exchange(line_, {}));
  Reset();
}

void LineSplitter::Reset() {
  line_.clear();
  has_return_ = is_progress_ = false;
}

}  // namespace muster::agent
