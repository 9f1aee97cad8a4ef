// What a terminal sends for the keys that are pressed. Pure.
#pragma once

#include <string>
#include <vector>

namespace muster::ctl {

enum class Key { kUp, kDown, kPageUp, kPageDown, kHome, kEnd, kEnter, kEscape, kBackspace, kText };

struct KeyPress {
  Key key = Key::kText;
  std::string text = {};  // of kText: one character, in UTF-8
};

// Takes the keys from the front of `bytes`. `is_all`: nothing more has come for a moment, so that an escape character
// alone is the key Esc; else it may be the beginning of a sequence, and stays. Sequences that are not known are
// skipped.
std::vector<KeyPress> TakeKeys(std::string& bytes, bool is_all);

}  // namespace muster::ctl
