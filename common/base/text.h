// Foreign text made fit to be shown.
#pragma once

#include <cstddef>
#include <string>

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

}  // namespace muster
