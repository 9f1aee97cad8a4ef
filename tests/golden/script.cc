#include "tests/golden/script.h"

#include <cmath>
#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace muster::golden {
namespace {

// Blanks separate words. Double quotes keep one together and are removed.
std::vector<std::string> Split(const std::string& line, std::string& error) {
  std::vector<std::string> words;
  std::string word;
  bool is_quoted = false;
  bool has_word = false;
  for (const char c : line) {
    if (c == '"') {
      is_quoted = !is_quoted;
      has_word = true;
    } else if (c == ' ' && !is_quoted) {
      if (has_word) words.push_back(std::move(word));
      word.clear();
      has_word = false;
    } else {
      word += c;
      has_word = true;
    }
  }
  if (has_word) words.push_back(std::move(word));
  if (is_quoted) error = "a quote is not closed";
  return words;
}

}  // namespace

Command Command::Parse(const std::string& line, std::string& error) {
  Command command;
  for (std::string& word : Split(line, error)) {
    const size_t equals = word.find('=');
    if (command.verb_.empty()) {
      command.verb_ = std::move(word);
    } else if (equals != std::string::npos) {
      command.options_.emplace_back(word.substr(0, equals), word.substr(equals + 1));
    } else {
      command.words_.push_back(std::move(word));
    }
  }
  return command;
}

std::string Command::Word(size_t index) {
  if (index >= words_.size()) return "";
  read_.insert(words_[index]);
  return words_[index];
}

bool Command::HasWord(const std::string& word) {
  for (const std::string& other : words_) {
    if (other == word) return read_.insert(word), true;
  }
  return false;
}

bool Command::Has(const std::string& key) const {
  for (const auto& [other, value] : options_) {
    if (other == key) return true;
  }
  return false;
}

std::string Command::Text(const std::string& key, const std::string& otherwise) {
  read_.insert(key);
  for (const auto& [other, value] : options_) {
    if (other == key) return value;
  }
  return otherwise;
}

uint64_t Command::Number(const std::string& key, uint64_t otherwise) {
  const std::string text = Text(key, "");
  return text.empty() ? otherwise : std::strtoull(text.c_str(), nullptr, 10);
}

absl::Duration Command::Seconds(const std::string& key, absl::Duration otherwise) {
  const std::string text = Text(key, "");
  return text.empty() ? otherwise : ParseSeconds(text);
}

std::string Command::Unread() const {
  std::string unread;
  for (const std::string& word : words_) {
    if (!read_.contains(word)) absl::StrAppend(&unread, " ", word);
  }
  for (const auto& [key, value] : options_) {
    if (!read_.contains(key)) absl::StrAppend(&unread, " ", key, "=");
  }
  return unread;
}

uint64_t StreamNumber(const std::string& word) {
  if (word.size() < 2 || word[0] != 's') return 0;
  return std::strtoull(word.c_str() + 1, nullptr, 10);
}

absl::Duration ParseSeconds(const std::string& text) {
  return absl::Milliseconds(std::llround(std::strtod(text.c_str(), nullptr) * 1000));
}

}  // namespace muster::golden
