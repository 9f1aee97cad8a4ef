// What a process wrote, as `ms-ctl logs` shows it.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace muster {

// Escaped as by EscapeControl, but line feeds and tabs stay. (The agent has cleaned the text, but it may not be our
// agent.)
std::string ShownText(const std::string& text);

// The end of what has been shown, to go on from it where only the last lines are known.
class ShownLines {
 public:
  void Add(const std::string& text);  // whole lines
  void Clear() { lines_.clear(); }
  // Of a process's last lines those that have not been shown yet. nullopt: they don't join what was shown, so others
  // may lie between.
  std::optional<std::vector<std::string>> Rest(const std::vector<std::string>& last_lines) const;

 private:
  std::deque<std::string> lines_;  // at most kMaxLastLines, as long as an agent's last lines can be
};

}  // namespace muster
