// The terminal output of `watch`: events scroll up, and the status block below them is redrawn in place. Pure.
#pragma once

#include <cstddef>
#include <string>

namespace muster {

// Breaks each line that is longer than `width` columns at a space, or in a word that is longer than that, and indents
// what follows. 0: breaks nothing. Each line of the result ends with a newline.
std::string WrapLines(const std::string& text, size_t width);

class Screen {
 public:
  // Without a terminal, Update returns only `news` and no escape sequence.
  explicit Screen(bool is_terminal) : is_terminal_(is_terminal) {}

  // Returns the bytes to write so that `news` stands above `block`. Both consist of whole lines; `news` may be empty.
  // Wraps the block's lines at `width` columns itself, because it has to know how many lines to redraw.
  std::string Update(const std::string& news, const std::string& block, size_t width);

 private:
  const bool is_terminal_;
  size_t lines_drawn_ = 0;
  std::string last_block_;
};

}  // namespace muster
