#include "common/base/ids.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/ascii.h"
#include "common/base/limits.h"

namespace muster {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Compares the numbers that begin at a[i] and b[j], of any length; moves `i` and `j` past them.
int CompareNumbers(std::string_view a, size_t& i, std::string_view b, size_t& j) {
  const auto take = [](std::string_view text, size_t& at) {
    while (at < text.size() && text[at] == '0') ++at;
    const size_t begin = at;
    while (at < text.size() && IsDigit(text[at])) ++at;
    return text.substr(begin, at - begin);
  };
  const std::string_view x = take(a, i);
  const std::string_view y = take(b, j);
  if (x.size() != y.size()) return x.size() < y.size() ? -1 : 1;
  return x.compare(y);
}

}  // namespace

bool IsIdCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == ':' || c == '@' || c == '-';
}

bool IsId(const std::string& text) {
  return !text.empty() && text.size() <= kMaxIdBytes && text != "." && text != ".." &&
         std::all_of(text.begin(), text.end(), IsIdCharacter);
}

bool IsAllDigits(const std::string& id) { return !id.empty() && std::all_of(id.begin(), id.end(), IsDigit); }

std::optional<uint32_t> NumericId(const std::string& id) {
  if (!IsAllDigits(id)) return std::nullopt;
  const size_t first = std::min(id.find_first_not_of('0'), id.size() - 1);
  if (id.size() - first > 9) return std::nullopt;
  return static_cast<uint32_t>(std::stoul(id.substr(first)));
}

bool NaturalLess(const std::string& a, const std::string& b) {
  size_t i = 0;
  size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (IsDigit(a[i]) && IsDigit(b[j])) {
      if (const int order = CompareNumbers(a, i, b, j); order != 0) return order < 0;
    } else if (a[i] != b[j]) {
      return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
    } else {
      ++i;
      ++j;
    }
  }
  const size_t rest_a = a.size() - i;
  const size_t rest_b = b.size() - j;
  return rest_a != rest_b ? rest_a < rest_b : a < b;
}

}  // namespace muster
