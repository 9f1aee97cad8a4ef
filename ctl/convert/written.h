// The words of a line, each with the way in which it was written (its quotes and variables). Pure.
#pragma once

#include <string>
#include <vector>

namespace muster::ctl {

struct Written {
  std::vector<std::string> words;  // the words as the program gets them
  // Each word as it was typed. A variable such as $ARGS may become several words: the first then has the text "$ARGS",
  // and the others are empty.
  std::vector<std::string> typed;
  // True if a shell has split the line and removed the quotes. Then a $ in a word was quoted, and stands for itself
  // until the next shell reads it.
  bool is_split = false;

  size_t size() const { return words.size(); }
  void Add(std::string word, std::string as_typed);
  Written From(size_t begin) const;

  // Returns the words before `end`, written for a shell. A variable that became several words is kept, unless `end` is
  // between them; then the words before `end` are written one by one.
  std::vector<std::string> Before(size_t end) const;
  std::vector<std::string> All() const { return Before(size()); }

  // Return a single word, and the value of a word --name=value, written for a shell. $NAME in it stays a variable.
  std::string One(size_t at) const;
  std::string ValueOf(size_t at) const;
};

void Append(const std::vector<std::string>& more, std::vector<std::string>& words);

}  // namespace muster::ctl
