// The terminal output of `watch`: events scroll up, and the status block below them is redrawn in place. Pure.
#pragma once

#include <cstddef>
#include <string>

namespace muster {

class Screen {
 public:
  // Without a terminal, Update returns only `news` and no escape sequence.
  explicit Screen(bool is_terminal) : is_terminal_(is_terminal) {}

  // Returns the bytes to write so that `news` stands above `block`. Both consist of whole lines; `news` may be empty.
  // Cuts the block's lines at `width` columns, because a wrapped line can't be redrawn. A width of 0 cuts nothing.
  std::string Update(const std::string& news, const std::string& block, size_t width);

 private:
  const bool is_terminal_;
  size_t lines_drawn_ = 0;
  std::string last_block_;
};

}  // namespace muster
