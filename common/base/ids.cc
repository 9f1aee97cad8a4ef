#include "common/base/ids.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "common/base/limits.h"

namespace muster {

bool IsIdCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == ':' || c == '@' || c == '-';
}

bool IsId(const std::string& text) {
  return !text.empty() && text.size() <= kMaxIdBytes && text != "." && text != ".." &&
         std::all_of(text.begin(), text.end(), IsIdCharacter);
}

}  // namespace muster
