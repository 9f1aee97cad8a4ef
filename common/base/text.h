// Text for people: foreign text made fit to be shown, and durations in words.
#pragma once

#include <cstddef>
#include <string>

#include "absl/time/time.h"

namespace muster {

// Escapes control characters (also the C1 ones, which some terminals obey), Unicode's line separators, what changes the
// order of writing or can't be seen, and bytes that are no UTF-8, so that a peer's words can neither forge log lines
// nor steer a terminal nor look like other ones: "a\nb" becomes "a\\nb", others become "\\x1b" and "\\u202e". Letters
// of all languages stay, and a backslash does: this is for reading, not for parsing back.
std::string EscapeControl(const std::string& text);

// The same for a whole JSON document, whose meaning stays: each of these characters as JSON's \uXXXX. Between members
// only spaces and line feeds may stand.
std::string EscapeJson(const std::string& json);

// The text, cut after `limit` bytes (then with "…" behind it), escaped as by EscapeControl, between double quotes.
std::string Quoted(const std::string& text, size_t limit = 100);

// Cuts it after at most `limit` bytes, not in the middle of a character.
void CutText(std::string& text, size_t limit);

// "40 ms", "1.5 s", "3 min", "2 h 5 min", "3 d 4 h", "for ever": for people, never parsed. Rounded.
std::string FormatAge(absl::Duration duration);

}  // namespace muster
