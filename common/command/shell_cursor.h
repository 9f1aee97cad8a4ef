// A position in a shell's text. It moves from left to right over words, quotes, expansions and here-documents. Pure.
// Reads each byte a bounded number of times. A bracket nested more than 64 deep counts as the end of the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

class ShellCursor {
 public:
  static constexpr size_t kMaxNesting = 64;

  struct HereDocument {
    std::string end;
    bool strips_tabs = false;  // <<-
  };

  explicit ShellCursor(std::string_view text) : text_(text) {}

  bool IsAtEnd() const { return at_ >= text_.size(); }
  size_t at() const { return at_; }
  char Here(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool IsNext(std::string_view what) const { return text_.substr(at_, what.size()) == what; }
  bool IsBlank() const { return !IsAtEnd() && (Here() == ' ' || Here() == '\t' || Here() == '\r'); }
  std::string_view Since(size_t begin) const { return text_.substr(begin, at_ - begin); }

  void Skip(size_t bytes) { at_ = bytes < text_.size() - at_ ? at_ + bytes : text_.size(); }
  void SkipBlanks();
  void SkipToLineEnd();  // stops before the newline
  void GoBackTo(size_t at) { at_ = at; }

  // Returns the number of the line that has the byte `at`, from 1. `at` must not decrease from call to call.
  uint32_t LineOf(size_t at);

  // Returns the word that begins here, without its quotes; $NAME and expansions stay as they are. If no word begins
  // here, returns an empty text and doesn't move.
  std::string ReadWord();

  // Moves from the opening bracket here, ( or {, to the character after its closing bracket.
  void SkipBracket() { SkipBracket(false, false); }

  // Skips $(…), ${…} or `…`; returns false and doesn't move if none begins here.
  bool SkipExpansion() { return SkipExpansion(false); }

  // Reads the operator << that is here, and the word that ends the document.
  HereDocument ReadHereOperator();
  // Skips the here-documents that the previous line has announced, and empties `documents`. Call it at the beginning of
  // a line.
  void SkipHereDocuments(std::vector<HereDocument>& documents);

 private:
  // `is_quoted`: the bracket stands in double quotes.
  void SkipBracket(bool is_quoted, bool is_arithmetic);
  bool SkipExpansion(bool is_quoted);
  void SkipSingleQuotes();
  void SkipAnsiQuotes();
  void SkipDoubleQuotes();
  void ReadDoubleQuotes(std::string& value);
  bool IsAtWordStart() const;
  bool IsAtCase() const;

  std::string_view text_;
  size_t at_ = 0;
  size_t depth_ = 0;  // how many brackets are open at at_
  uint32_t line_ = 1;
  size_t counted_ = 0;  // line_ is the line number of this byte
};

}  // namespace muster
