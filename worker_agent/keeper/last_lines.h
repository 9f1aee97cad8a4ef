// The last lines that a process wrote, from both of its streams, as they came.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "worker_agent/keeper/text.h"

namespace muster::agent {

class LastLines {
 public:
  LastLines();

  void Feed(size_t stream, std::string_view bytes);  // stream: 0 or 1

  // At most kMaxLastLines of at most kMaxLastLineBytes, clean text; a last line without an end counts. Call it once.
  std::vector<std::string> Take();

 private:
  void Keep(std::string&& line);

  std::array<LineSplitter, 2> splitters_;
  std::deque<std::string> lines_;
};

}  // namespace muster::agent
