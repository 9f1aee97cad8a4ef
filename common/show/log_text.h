// The output of a process, as `ms-ctl logs` shows it.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace muster {

// Escapes as EscapeControl does, but keeps line feeds and tabs. (The agent has cleaned the text, but it may not be our
// agent.)
std::string ShownText(const std::string& text);

// The end of the text shown so far, to go on from it when only the last lines are known.
class ShownLines {
 public:
  void Add(const std::string& text);  // whole lines
  void Clear() { lines_.clear(); }
  // Returns those of a process's last lines that have not been shown yet. nullopt: they don't join the shown text, so
  // others may lie between.
  std::optional<std::vector<std::string>> Rest(const std::vector<std::string>& last_lines) const;

 private:
  std::deque<std::string> lines_;  // at most kMaxLastLines, as long as an agent's last lines can be
};

}  // namespace muster
