// The rules for finding those of a process's last lines that have not been shown yet:
//
//   the last lines                            shown so far         new lines
//   end with the last shown lines             anything             none
//   contain the last shown lines further up   anything             those after the shown lines
//   are fewer than an agent keeps             nothing              all: these are the process's whole output
//   any others                                anything             not known: there may be a gap
#include "common/show/log_text.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_split.h"
#include "common/base/limits.h"
#include "common/base/text.h"

namespace muster {

std::string ShownText(const std::string& text) {
  std::string shown;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_of("\n\t", at), text.size());
    shown += EscapeControl(text.substr(at, end - at));
    if (end < text.size()) shown += text[end];
    at = end + 1;
  }
  return shown;
}

void ShownLines::Add(const std::string& text) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  lines.pop_back();  // the text after the last line break
  for (std::string& line : lines) {
    CutText(line, kMaxLastLineBytes);
    lines_.push_back(std::move(line));
    if (lines_.size() > kMaxLastLines) lines_.pop_front();
  }
}

std::optional<std::vector<std::string>> ShownLines::Rest(const std::vector<std::string>& last_lines) const {
  if (lines_.empty()) return last_lines.size() < kMaxLastLines ? std::optional(last_lines) : std::nullopt;
  size_t best = 0;
  size_t rest = 0;
  for (size_t end = last_lines.size(); end > 0; --end) {
    size_t same = 0;
    while (same < std::min(end, lines_.size()) && last_lines[end - 1 - same] == lines_[lines_.size() - 1 - same])
      ++same;
    if (same > best) {
      best = same;
      rest = end;
    }
  }
  if (best == 0) return std::nullopt;
  return std::vector<std::string>(last_lines.begin() + static_cast<std::ptrdiff_t>(rest), last_lines.end());
}

}  // namespace muster
