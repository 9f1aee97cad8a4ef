#include "common/show/screen.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace muster {
namespace {

// Returns the first `width` code points of each line.
std::string CutLines(const std::string& text, size_t width) {
  if (width == 0) return text;
  std::string out;
  size_t column = 0;
  for (char c : text) {
    if (c == '\n') {
      column = 0;
    } else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) {
      ++column;
    }
    if (column <= width) out += c;
  }
  return out;
}

}  // namespace

std::string Screen::Update(const std::string& news, const std::string& block, size_t width) {
  if (!is_terminal_) return news;
  const std::string cut = CutLines(block, width);
  if (news.empty() && cut == last_block_) return "";
  std::string out;
  if (lines_drawn_ > 0) out = absl::StrCat("\x1b[", lines_drawn_, "A\r\x1b[J");  // up, then clear to the end
  absl::StrAppend(&out, news, cut);
  lines_drawn_ = static_cast<size_t>(std::count(cut.begin(), cut.end(), '\n'));
  last_block_ = cut;
  return out;
}

}  // namespace muster
