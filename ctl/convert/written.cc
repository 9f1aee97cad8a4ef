// ValueOf returns for these words:
//
//   --log_dir=$D     $D
//   "--log_dir=$D"   "$D"
//   --log_di'r=x y'  "x y" in new quotes
#include "ctl/convert/written.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "common/command/shell_words.h"

namespace muster::ctl {

void Written::Add(std::string word, std::string as_typed) {
  words.push_back(std::move(word));
  typed.push_back(std::move(as_typed));
}

Written Written::From(size_t begin) const {
  const auto at = static_cast<std::ptrdiff_t>(std::min(begin, size()));
  return {{words.begin() + at, words.end()}, {typed.begin() + at, typed.end()}, is_split};
}

std::vector<std::string> Written::Before(size_t end) const {
  std::vector<std::string> shown;
  for (size_t i = 0; i < end;) {
    size_t next = i + 1;
    while (next < size() && typed[next].empty()) ++next;
    if (!typed[i].empty() && next <= end) {
      shown.push_back(typed[i]);
    } else {
      for (size_t k = i; k < std::min(next, end); ++k) shown.push_back(ShellWordToExpand(words[k]));
    }
    i = next;
  }
  return shown;
}

std::string Written::One(size_t at) const {
  const bool is_alone = at + 1 == size() || !typed[at + 1].empty();
  return is_split || typed[at].empty() || !is_alone ? ShellWordToExpand(words[at]) : typed[at];
}

std::string Written::ValueOf(size_t at) const {
  const size_t value = words[at].find('=') + 1;
  const std::string name = words[at].substr(0, value);
  const std::string shown = One(at);
  for (const std::string quote : {"", "\"", "'"}) {
    if (absl::StartsWith(shown, quote + name)) return quote + shown.substr(quote.size() + name.size());
  }
  return ShellWordToExpand(words[at].substr(value));
}

void Append(const std::vector<std::string>& more, std::vector<std::string>& words) {
  words.insert(words.end(), more.begin(), more.end());
}

}  // namespace muster::ctl
