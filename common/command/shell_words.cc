// What the scan does with a text:
//
//   newline ; & | && || ( )            ends a command; after | the next one has input
//   # at the start of a word           a comment: up to the end of the line
//   'x' "x" \x                         part of a word, without the quotes
//   $(…) `…` ${…} $((…))               part of a word, as written
//   > FILE 2>&1 &> FILE                left out; < FILE, <<< WORD: input
//   << END                             input; the lines up to END are left out
//   if then do while ! { … before it   left out: the command follows
//   for case select function           left out up to the end of the command
//   NAME() and PATTERN)                no command
//   A=(x y)                            an assignment whose value is "x y"
#include "common/command/shell_words.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace muster {
namespace {

constexpr size_t kMostCommands = 1024;
constexpr size_t kMostNesting = 64;
constexpr std::string_view kBlanks = " \t\r";
constexpr std::string_view kWordEnds = " \t\r\n;&|<>()";
constexpr std::string_view kBeforeCommand[] = {"if", "then", "else", "elif", "do", "while", "until", "!", "{", "}"};
constexpr std::string_view kNoCommand[] = {"for", "case", "select", "function", "fi", "done", "esac", "[[", "[", "in"};

template <size_t kCount>
bool IsOneOf(const std::string_view (&words)[kCount], std::string_view word) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::vector<ShellCommand> Run() {
    while (at_ < text_.size() && commands_.size() < kMostCommands) Step();
    End();
    return std::move(commands_);
  }

 private:
  char Here(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool IsNext(std::string_view what) const { return text_.substr(at_, what.size()) == what; }

  void Step() {
    const char c = Here();
    if (kBlanks.find(c) != std::string_view::npos) {
      ++at_;
    } else if (IsNext("\\\n")) {
      at_ += 2;
      ++line_;
    } else if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == '\n') {
      ++at_;
      ++line_;
      End();
      SkipHereDocuments();
    } else if (c == '<' || c == '>' || IsNext("&>")) {
      Redirect();
    } else if (c == '(') {
      Open();
    } else if (c == ')') {
      Close();
    } else if (c == ';' || c == '&' || c == '|') {
      const bool is_pipe = c == '|' && Here(1) != '|';
      at_ += Here(1) == c || IsNext("|&") ? 2 : 1;
      End();
      command_.has_input = is_pipe;
    } else {
      TakeWord();
    }
  }

  void TakeWord() {
    const size_t begin = at_;
    const uint32_t line = line_;
    std::string value = ReadWord();
    if (at_ == begin) {  // nothing that a word can have
      ++at_;
      return;
    }
    const bool is_fd = (Here() == '<' || Here() == '>') && value.find_first_not_of("0123456789") == std::string::npos;
    if (is_fd) return;
    if (command_.words.empty() && IsAssignment(value)) {
      if (Here() == '(' && absl::EndsWith(value, "=")) value += ReadArray();
      Extend(begin, line);
      command_.assignments.push_back(std::move(value));
      return;
    }
    if (command_.words.empty() && IsOneOf(kBeforeCommand, value)) return;
    Extend(begin, line);
    command_.typed.emplace_back(text_.substr(begin, at_ - begin));
    command_.words.push_back(std::move(value));
  }

  void Extend(size_t begin, uint32_t line) {
    if (command_.words.empty() && command_.assignments.empty()) {
      command_.begin = begin;
      command_.line = line;
    }
    command_.end = at_;
  }

  // NAME() { … }: what stands before the bracket is no command. Else a subshell begins.
  void Open() {
    ++at_;
    ++depth_;
    if (!command_.words.empty()) is_dropped_ = true;
    End();
  }

  // Without an opening one it ends a pattern of `case`.
  void Close() {
    ++at_;
    if (depth_ == 0) is_dropped_ = true;
    if (depth_ > 0) --depth_;
    End();
  }

  void End() {
    const bool is_empty = command_.words.empty() && command_.assignments.empty();
    const bool is_other = !command_.words.empty() && IsOneOf(kNoCommand, command_.words[0]);
    if (!is_empty && !is_other && !is_dropped_) commands_.push_back(std::move(command_));
    command_ = {};
    is_dropped_ = false;
  }

  void Redirect() {
    if (IsNext("<(") || IsNext(">(")) {  // a file to the command
      const size_t begin = at_++;
      SkipBracket('(', ')');
      Extend(begin, line_);
      command_.typed.emplace_back(text_.substr(begin, at_ - begin));
      command_.words.emplace_back(text_.substr(begin, at_ - begin));
      return;
    }
    const bool is_input = Here() == '<';
    const bool is_here = IsNext("<<") && !IsNext("<<<");
    command_.has_input |= is_input;
    while (std::string_view("<>&|-").find(Here()) != std::string_view::npos && at_ < text_.size()) {
      if (Here() == '-' && !is_here) break;
      ++at_;
    }
    while (kBlanks.find(Here()) != std::string_view::npos && at_ < text_.size()) ++at_;
    const std::string word = ReadWord();
    if (is_here && !word.empty()) here_ends_.push_back(word);
  }

  void SkipHereDocuments() {
    for (const std::string& end : std::exchange(here_ends_, {})) {
      while (at_ < text_.size()) {
        const size_t newline = std::min(text_.find('\n', at_), text_.size());
        std::string_view line = text_.substr(at_, newline - at_);
        at_ = std::min(newline + 1, text_.size());
        ++line_;
        line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
        if (line == end) break;
      }
    }
  }

  std::string ReadArray() {
    const size_t begin = at_;
    SkipBracket('(', ')');
    const size_t size = at_ - begin;
    return size < 2 ? "" : std::string(text_.substr(begin + 1, size - 2));
  }

  // From an opening bracket to after its closing one; quoted ones count not.
  void SkipBracket(char open, char close) {
    size_t depth = 0;
    while (at_ < text_.size()) {
      const char c = Here();
      if (c == '\n' || IsNext("\\\n")) ++line_;
      if (c == '\\') {
        ++at_;
      } else if (c == '\'' || c == '"') {
        const size_t end = text_.find(c, at_ + 1);
        if (end == std::string_view::npos) break;
        line_ += static_cast<uint32_t>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                                  text_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
        at_ = end;
      } else if (c == open) {
        if (++depth > kMostNesting) break;
      } else if (c == close && --depth == 0) {
        ++at_;
        return;
      }
      ++at_;
    }
    at_ = text_.size();
  }

  // `value` gets what $, ` and what follows them are, as written.
  bool TakeExpansion(std::string& value) {
    const size_t begin = at_;
    if (IsNext("$(") || IsNext("${")) {
      const char open = Here(1);
      ++at_;
      SkipBracket(open, open == '(' ? ')' : '}');
    } else if (Here() == '`') {
      const size_t end = text_.find('`', at_ + 1);
      at_ = end == std::string_view::npos ? text_.size() : end + 1;
    } else {
      return false;
    }
    value += text_.substr(begin, at_ - begin);
    return true;
  }

  std::string ReadWord() {
    std::string value;
    while (at_ < text_.size() && kWordEnds.find(Here()) == std::string_view::npos) {
      if (Here() == '\'') {
        const size_t end = std::min(text_.find('\'', at_ + 1), text_.size());
        value += text_.substr(at_ + 1, end - at_ - 1);
        line_ += static_cast<uint32_t>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                                  text_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
        at_ = std::min(end + 1, text_.size());
      } else if (Here() == '"') {
        ++at_;
        ReadQuoted(value);
      } else if (IsNext("\\\n")) {
        at_ += 2;
        ++line_;
        if (value.empty()) break;
      } else if (Here() == '\\') {
        if (at_ + 1 < text_.size()) value += text_[at_ + 1];
        at_ = std::min(at_ + 2, text_.size());
      } else if (!TakeExpansion(value)) {
        value += Here();
        ++at_;
      }
    }
    return value;
  }

  void ReadQuoted(std::string& value) {
    while (at_ < text_.size() && Here() != '"') {
      if (Here() == '\n' || IsNext("\\\n")) ++line_;
      if (IsNext("\\\n")) {
        at_ += 2;
      } else if (Here() == '\\' && std::string_view("\"\\`").find(Here(1)) != std::string_view::npos) {
        value += Here(1);
        at_ = std::min(at_ + 2, text_.size());
      } else if (!TakeExpansion(value)) {
        value += Here();
        ++at_;
      }
    }
    at_ = std::min(at_ + 1, text_.size());
  }

  std::string_view text_;
  size_t at_ = 0;
  uint32_t line_ = 1;
  size_t depth_ = 0;  // of subshells
  bool is_dropped_ = false;
  ShellCommand command_;
  std::vector<std::string> here_ends_;
  std::vector<ShellCommand> commands_;
};

}  // namespace

std::vector<ShellCommand> ShellCommands(std::string_view text) { return Scanner(text).Run(); }

bool IsAssignment(std::string_view word) {
  const size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0 || (word[0] >= '0' && word[0] <= '9')) return false;
  constexpr std::string_view kName = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+";
  return word.substr(0, equals).find_first_not_of(kName) == std::string_view::npos;
}

std::string ShellWord(const std::string& word) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./{}-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  return absl::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
}

}  // namespace muster
