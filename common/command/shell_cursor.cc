// The rules for text between brackets:
//
//   ' " \ $(…) ${…} `…` in $(…), (…)      skipped as a whole: brackets in them don't count
//   ' in "${…}"                           an ordinary character
//   # at the start of a word, in (…)      a comment up to the end of the line
//   << END in (…)                         begins a here-document: the lines up to END are skipped
//   case WORD in … esac in (…)            the ) after each pattern doesn't count
//   ((…))                                 arithmetic: has neither comments nor here-documents
#include "common/command/shell_cursor.h"

#include <algorithm>
#include <utility>

namespace muster {
namespace {

constexpr size_t kMaxCaseBytes = 256;  // longest text between `case` and `in`
constexpr std::string_view kWordEnds = " \t\r\n;&|<>()";

}  // namespace

void ShellCursor::SkipBlanks() {
  while (IsBlank()) ++at_;
}

void ShellCursor::SkipToLineEnd() { at_ = std::min(text_.find('\n', at_), text_.size()); }

uint32_t ShellCursor::LineOf(size_t at) {
  for (; counted_ < at; ++counted_) line_ += text_[counted_] == '\n' ? 1 : 0;
  return line_;
}

bool ShellCursor::IsAtWordStart() const { return at_ == 0 || kWordEnds.find(text_[at_ - 1]) != std::string_view::npos; }

std::string ShellCursor::ReadWord() {
  std::string value;
  while (!IsAtEnd() && kWordEnds.find(Here()) == std::string_view::npos) {
    const size_t begin = at_;
    if (IsNext("$'")) {
      SkipAnsiQuotes();
      value += Since(begin);
    } else if (Here() == '\'') {
      SkipSingleQuotes();
      const std::string_view quoted = Since(begin);
      value += quoted.size() > 1 ? quoted.substr(1, quoted.size() - 2) : quoted.substr(1);
    } else if (Here() == '"') {
      ReadDoubleQuotes(value);
    } else if (IsNext("\\\n")) {
      at_ += 2;
      if (value.empty()) break;
    } else if (Here() == '\\') {
      Skip(2);
      value += Since(begin).substr(1);
    } else if (SkipExpansion()) {
      value += Since(begin);
    } else {
      value += Here();
      ++at_;
    }
  }
  return value;
}

void ShellCursor::ReadDoubleQuotes(std::string& value) {
  ++at_;
  while (!IsAtEnd() && Here() != '"') {
    const size_t begin = at_;
    if (IsNext("\\\n")) {
      at_ += 2;
    } else if (Here() == '\\' && (Here(1) == '"' || Here(1) == '\\' || Here(1) == '`')) {
      value += Here(1);
      at_ += 2;
    } else if (IsNext("\\$")) {  // keeps the backslash, because otherwise $ would begin a variable
      value += "\\$";
      at_ += 2;
    } else if (SkipExpansion(true)) {
      value += Since(begin);
    } else {
      value += Here();
      ++at_;
    }
  }
  Skip(1);
}

// A quote that is never closed is an ordinary character.
void ShellCursor::SkipSingleQuotes() {
  const size_t end = text_.find('\'', at_ + 1);
  at_ = end == std::string_view::npos ? at_ + 1 : end + 1;
}

void ShellCursor::SkipAnsiQuotes() {
  at_ += 2;
  while (!IsAtEnd() && Here() != '\'') Skip(Here() == '\\' ? 2 : 1);
  Skip(1);
}

void ShellCursor::SkipDoubleQuotes() {
  ++at_;
  while (!IsAtEnd() && Here() != '"') {
    if (Here() == '\\') {
      Skip(2);
    } else if (!SkipExpansion(true)) {
      ++at_;
    }
  }
  Skip(1);
}

bool ShellCursor::SkipExpansion(bool is_quoted) {
  if (IsNext("$(") || IsNext("${")) {
    ++at_;
    SkipBracket(is_quoted, false);
    return true;
  }
  if (Here() != '`' || IsAtEnd()) return false;
  ++at_;
  while (!IsAtEnd() && Here() != '`') Skip(Here() == '\\' ? 2 : 1);
  Skip(1);
  return true;
}

// True if `case WORD in` begins here, at a place where a command can begin.
bool ShellCursor::IsAtCase() const {
  if (!IsNext("case ")) return false;
  const size_t before = at_ == 0 ? std::string_view::npos : text_.find_last_not_of(" \t", at_ - 1);
  if (before == std::string_view::npos || std::string_view("(;|&\n").find(text_[before]) == std::string_view::npos) {
    return false;
  }
  const std::string_view ahead = text_.substr(at_, kMaxCaseBytes);
  const std::string_view head = ahead.substr(0, ahead.find('\n'));
  return head.find(" in ") != std::string_view::npos || head.substr(head.size() - 3) == " in";
}

void ShellCursor::SkipBracket(bool is_quoted, bool is_arithmetic) {
  if (depth_ == kMaxNesting) {
    at_ = text_.size();
    return;
  }
  ++depth_;
  const bool is_brace = Here() == '{';
  is_arithmetic |= IsNext("((");
  const bool has_commands = !is_brace && !is_arithmetic;
  std::vector<HereDocument> documents;
  size_t cases = 0;
  bool is_open = true;
  ++at_;
  while (is_open && !IsAtEnd()) {
    const char c = Here();
    if (c == '\\') {
      Skip(2);
    } else if (c == '\'' && !(is_brace && is_quoted)) {
      SkipSingleQuotes();
    } else if (c == '"') {
      SkipDoubleQuotes();
    } else if (IsNext("$'") && !is_quoted) {
      SkipAnsiQuotes();
    } else if (c == '#' && has_commands && IsAtWordStart()) {
      SkipToLineEnd();
    } else if (has_commands && IsNext("<<") && !IsNext("<<<")) {
      documents.push_back(ReadHereOperator());
    } else if (c == '\n' && !documents.empty()) {
      ++at_;
      SkipHereDocuments(documents);
    } else if (has_commands && IsAtCase()) {
      at_ += 4;
      ++cases;
    } else if (cases > 0 && IsNext("esac") && IsAtWordStart()) {
      at_ += 4;
      --cases;
    } else if (c == (is_brace ? '}' : ')')) {
      ++at_;
      is_open = cases > 0;
    } else if (c == '(' && !is_brace) {
      SkipBracket(false, is_arithmetic);
    } else if (!SkipExpansion(is_brace && is_quoted)) {
      ++at_;
    }
  }
  --depth_;
}

ShellCursor::HereDocument ShellCursor::ReadHereOperator() {
  Skip(2);
  const bool strips_tabs = Here() == '-';
  if (strips_tabs) ++at_;
  SkipBlanks();
  return {ReadWord(), strips_tabs};
}

void ShellCursor::SkipHereDocuments(std::vector<HereDocument>& documents) {
  for (const HereDocument& document : std::exchange(documents, {})) {
    while (!IsAtEnd()) {
      const size_t begin = at_;
      SkipToLineEnd();
      std::string_view line = Since(begin);
      Skip(1);
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      if (document.strips_tabs) line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
      if (line == document.end) break;
    }
  }
}

}  // namespace muster
