#include "common/show/screen.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace muster {
namespace {

constexpr size_t kValueColumn = 14;  // where RenderRun's values begin, after their labels

bool IsFirstByte(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

// Returns how far what follows the first part of a line is indented: to its value, or a little more than the line.
size_t IndentOf(const std::string& line, size_t width) {
  const size_t first = std::min(line.find_first_not_of(' '), line.size());
  const bool has_label = first == 2 && line.size() > kValueColumn && line[kValueColumn - 1] == ' ' && line[3] != ' ';
  return std::min(has_label ? kValueColumn : first + 2, width / 2);
}

// Returns the length in bytes of the longest beginning of `text` that fits into `width` columns: up to a space if there
// is one after `least` bytes.
size_t BreakOf(const std::string& text, size_t width, size_t least) {
  size_t columns = 0, end = 0, space = 0;
  for (; end < text.size(); ++end) {
    if (IsFirstByte(text[end]) && ++columns > width) break;
    if (text[end] == ' ' && end > least) space = end;
  }
  return end == text.size() || text[end] == ' ' || space == 0 ? end : space;
}

void AppendWrapped(std::string line, size_t width, std::string& out) {
  const size_t indent = IndentOf(line, width);
  size_t least = std::min(line.find_first_not_of(' '), line.size());
  while (true) {
    const size_t end = BreakOf(line, width, least);
    out.append(line, 0, end);
    out += '\n';
    const size_t next = line.find_first_not_of(' ', end);
    if (next == std::string::npos) return;
    line = std::string(indent, ' ') + line.substr(next);
    least = indent;
  }
}

}  // namespace

std::string WrapLines(const std::string& text, size_t width) {
  if (width == 0) return text;
  std::string out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    AppendWrapped(text.substr(begin, end - begin), width, out);
    begin = end + 1;
  }
  return out;
}

std::string Screen::Update(const std::string& news, const std::string& block, size_t width) {
  if (!is_terminal_) return news;
  const std::string wrapped = WrapLines(block, width);
  if (news.empty() && wrapped == last_block_) return "";
  std::string out;
  if (lines_drawn_ > 0) out = absl::StrCat("\x1b[", lines_drawn_, "A\r\x1b[J");  // up, then clear to the end
  absl::StrAppend(&out, news, wrapped);
  lines_drawn_ = static_cast<size_t>(std::count(wrapped.begin(), wrapped.end(), '\n'));
  last_block_ = wrapped;
  return out;
}

}  // namespace muster
