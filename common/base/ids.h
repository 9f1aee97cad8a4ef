// The rules for the ids of jobs, nodes and machines, and their order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace muster {

bool IsIdCharacter(char c);  // [A-Za-z0-9._:@-]

// True for 1 to kMaxIdBytes of these characters, except "." and "..". The rule is strict because an id becomes a part
// of file paths and of the URI names in certificates.
bool IsId(const std::string& text);

// Returns the value of an id of digits only ("007" is 7); nullopt for anything else, and above 999,999,999.
std::optional<uint32_t> NumericId(const std::string& id);

// True if an id consists of digits only; it may be of any length.
bool IsAllDigits(const std::string& id);

// Orders texts, with the digits in them read as numbers: "node9" < "node10". Two texts are equal in this order only if
// they are the same text: "1" and "01" are not.
bool NaturalLess(const std::string& a, const std::string& b);

}  // namespace muster
