// The rules for ids of jobs, nodes and machines, from any source; and ids that are numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace muster {

bool IsIdCharacter(char c);  // [A-Za-z0-9._:@-]

// True for 1 to kMaxIdBytes of these characters that are neither "." nor "..": an id becomes a part of paths, and of
// certificates' URI names.
bool IsId(const std::string& text);

// Returns the value of an id of digits only ("007" is 7); nullopt for anything else, and above 999,999,999.
std::optional<uint32_t> NumericId(const std::string& id);

// True if an id consists of digits only; it may be of any length.
bool IsAllDigits(const std::string& id);

// Digits compare as numbers: "node9" < "node10". Total: equal only for equal texts.
bool NaturalLess(const std::string& a, const std::string& b);

}  // namespace muster
