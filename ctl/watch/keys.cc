// The bytes that terminals send for keys:
//
// ESC [ A    up        ESC [ H, ESC [ 1 ~    home     CR, LF     enter
// ESC [ B    down      ESC [ F, ESC [ 4 ~    end      DEL, BS    backspace
// ESC [ 5 ~  page up   ESC O …               as ESC [ …
// ESC [ 6 ~  page down ESC alone             escape
#include <cstddef>
#include <map>
#include <optional>

#include "ctl/watch/live_view.h"

namespace muster::ctl {
namespace {

constexpr char kEsc = '\x1b';
constexpr size_t kLongest = 16;  // bytes of a sequence

std::optional<Key> KeyOf(const std::string& sequence) {
  static const auto* const keys = new std::map<std::string, Key>{
      {"A", Key::kUp},   {"B", Key::kDown},  {"5~", Key::kPageUp}, {"6~", Key::kPageDown},
      {"H", Key::kHome}, {"1~", Key::kHome}, {"F", Key::kEnd},     {"4~", Key::kEnd}};
  const auto found = keys->find(sequence);
  return found == keys->end() ? std::nullopt : std::optional(found->second);
}

// Returns the length of the sequence at the front of `bytes`; 0: the sequence is not complete.
size_t SequenceLength(const std::string& bytes) {
  if (bytes.size() < 2) return 0;
  if (bytes[1] != '[' && bytes[1] != 'O') return 1;  // the key Esc, and then another key
  for (size_t i = 2; i < bytes.size(); ++i) {
    if ((bytes[i] >= '@' && bytes[i] <= '~') || i >= kLongest) return i + 1;
  }
  return 0;
}

size_t CharacterLength(unsigned char first) { return first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4; }

}  // namespace

std::vector<KeyPress> TakeKeys(std::string& bytes, bool is_all) {
  std::vector<KeyPress> keys;
  while (!bytes.empty()) {
    const char first = bytes.front();
    if (first == kEsc) {
      size_t length = SequenceLength(bytes);
      if (length == 0 && !is_all) break;
      if (length == 0) length = bytes.size();
      if (length == 1) {
        keys.push_back({Key::kEscape});
      } else if (const std::optional<Key> key = KeyOf(bytes.substr(2, length - 2))) {
        keys.push_back({*key});
      }
      bytes.erase(0, length);
      continue;
    }
    const size_t length = CharacterLength(static_cast<unsigned char>(first));
    if (length > bytes.size() && !is_all) break;
    if (first == '\r' || first == '\n') {
      keys.push_back({Key::kEnter});
    } else if (first == '\x7f' || first == '\b') {
      keys.push_back({Key::kBackspace});
    } else if (static_cast<unsigned char>(first) >= 0x20) {
      keys.push_back({Key::kText, bytes.substr(0, length)});
    }
    bytes.erase(0, length);
  }
  return keys;
}

}  // namespace muster::ctl
