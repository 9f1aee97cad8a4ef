// Makes text for people: foreign text that is safe to show, and durations in words.
#pragma once

#include <cstddef>
#include <string>

#include "absl/time/time.h"

namespace muster {

// Escapes control characters (also the C1 ones, which some terminals obey), Unicode's line separators, characters that
// change the order of writing or can't be seen, and bytes that are no UTF-8. So a peer's words can neither forge log
// lines, nor control a terminal, nor look like other words. A line feed becomes "\\n"; others become, for example,
// "\\x1b" or "\\u202e". Letters of all languages stay, and so does a backslash: the result is for reading, not for
// parsing back.
std::string EscapeControl(const std::string& text);

// Escapes the same characters in a whole JSON document, each as JSON's \uXXXX, so that the document means the same.
// Between members it may contain no whitespace except spaces and line feeds.
std::string EscapeJson(const std::string& json);

// Returns the text between double quotes, escaped as by EscapeControl; after `limit` bytes it is cut and "…" follows.
std::string Quoted(const std::string& text, size_t limit = 100);

// Cuts the text to at most `limit` bytes, not in the middle of a character.
void CutText(std::string& text, size_t limit);

// Returns "40 ms", "1.5 s", "3 min", "2 h 5 min", "3 d 4 h", "for ever". For people: it is rounded, and never parsed.
std::string FormatAge(absl::Duration duration);

}  // namespace muster
