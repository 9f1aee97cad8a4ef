// The terminal output of `watch`: events scroll up, the status block below them is redrawn in place. Pure.
#pragma once

#include <cstddef>
#include <string>

namespace muster {

class Screen {
 public:
  // Without a terminal, prints only `news`, as it comes, and no escape sequence.
  explicit Screen(bool is_terminal) : is_terminal_(is_terminal) {}

  // Returns the bytes to write so that `news` (whole lines, may be empty) stands above `block` (whole lines). Lines of
  // the block are cut at `width` columns: a line that wraps could not be redrawn. A width of 0 cuts nothing.
  std::string Update(const std::string& news, const std::string& block, size_t width);

 private:
  const bool is_terminal_;
  size_t lines_drawn_ = 0;
  std::string last_block_;
};

}  // namespace muster
