// What may name a job, a node or a machine, wherever such an id comes from.
#pragma once

#include <string>

namespace muster {

bool IsIdCharacter(char c);  // [A-Za-z0-9._:@-]

// 1 to kMaxIdBytes of these characters, and neither "." nor "..": an id becomes a part of paths, and of certificates'
// URI names.
bool IsId(const std::string& text);

}  // namespace muster
