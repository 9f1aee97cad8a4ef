// Words of a line, each with its spelling in it. Pure.
#pragma once

#include <string>
#include <vector>

namespace muster::ctl {

struct Written {
  std::vector<std::string> words;  // as the program gets them
  // The words as they are written. Empty: the word belongs to the one before, as the further words of $ARGS do.
  std::vector<std::string> typed;
  // True if a shell has split the line and removed the quotes. A $ in it was then quoted for us, not for the program.
  bool is_split = false;

  size_t size() const { return words.size(); }
  void Add(std::string word, std::string as_typed);
  Written From(size_t begin) const;

  // Returns the words before `end` for a shell. If one is written together with words after `end`, writes those before
  // `end` one by one.
  std::vector<std::string> Before(size_t end) const;
  std::vector<std::string> All() const { return Before(size()); }

  // Returns the word alone, for a shell; ValueOf the value of --name=value. $NAME in it stays a variable.
  std::string One(size_t at) const;
  std::string ValueOf(size_t at) const;
};

void Append(const std::vector<std::string>& more, std::vector<std::string>& words);

}  // namespace muster::ctl
