// The output of a process, as `ms-ctl logs` shows it.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace muster {

// Escapes like EscapeControl, but keeps line feeds and tabs. The agent should have done so already, but a peer may be
// another program.
std::string ShownText(const std::string& text);

// Remembers the last lines that were shown, to find out which of a process's last lines are new.
class ShownLines {
 public:
  void Add(const std::string& text);  // `text` consists of whole lines
  void Clear() { lines_.clear(); }
  // Returns those of a process's last lines that have not been shown yet. nullopt: none of them was shown, so there may
  // be lines between these and the shown ones.
  std::optional<std::vector<std::string>> Rest(const std::vector<std::string>& last_lines) const;

 private:
  std::deque<std::string> lines_;  // at most kMaxLastLines, each cut to the length at which agents cut them
};

}  // namespace muster
