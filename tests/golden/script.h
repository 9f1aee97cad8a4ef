// The language of the golden scripts: one command a line, with the reaction of the core indented below it.
//
//   join s1 node=a worker_num=2 host="big host" spare
//     persist node_joined …
//
// The first word is the verb. A word with '=' is an option, with its value in double quotes if it has blanks. Other
// words are plain. Options keep their order, because some refer to the one before. '#' begins a comment line.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"

namespace muster::golden {

class Command {
 public:
  // A malformed line is a mistake in the script: `error` gets the reason.
  static Command Parse(const std::string& line, std::string& error);

  const std::string& verb() const { return verb_; }
  const std::vector<std::pair<std::string, std::string>>& options() const { return options_; }

  // Returns a plain word after the verb; empty if there are fewer.
  std::string Word(size_t index);
  bool HasWord(const std::string& word);  // a flag like "spare"
  bool Has(const std::string& key) const;
  std::string Text(const std::string& key, const std::string& otherwise);
  uint64_t Number(const std::string& key, uint64_t otherwise);
  absl::Duration Seconds(const std::string& key, absl::Duration otherwise);
  // A caller that reads the options in order marks them as read itself.
  void MarkRead(const std::string& key) { read_.insert(key); }

  // Returns the words that no call has read: a misspelt option must not pass silently.
  std::string Unread() const;

 private:
  std::string verb_;
  std::vector<std::string> words_;
  std::vector<std::pair<std::string, std::string>> options_;
  std::set<std::string> read_;
};

// "s12" is stream 12.
uint64_t StreamNumber(const std::string& word);

absl::Duration ParseSeconds(const std::string& text);

}  // namespace muster::golden
