// Words of a line, with how they are written in it. Pure.
#pragma once

#include <string>
#include <vector>

namespace muster::ctl {

struct Written {
  std::vector<std::string> words;  // as the program gets them
  // As they are written; empty: the word belongs to the one before, as the further words of $ARGS do.
  std::vector<std::string> typed;
  // A shell has split the line and taken the quotes away before. A $ in it was quoted for us, not for the program.
  bool is_split = false;

  size_t size() const { return words.size(); }
  void Add(std::string word, std::string as_typed);
  Written From(size_t begin) const;

  // The words before `end` for a shell. Those that a word with others is written for, which stand after `end`, are
  // written one by one.
  std::vector<std::string> Before(size_t end) const;
  std::vector<std::string> All() const { return Before(size()); }

  // The word for a shell, alone; of --name=value the value. $NAME in it stays a variable.
  std::string One(size_t at) const;
  std::string ValueOf(size_t at) const;
};

void Append(const std::vector<std::string>& more, std::vector<std::string>& words);

}  // namespace muster::ctl
