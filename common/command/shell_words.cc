// The rules of the scan:
//
//   newline ; & | && || ( )            ends a command; after | the next command has input
//   # at the start of a word           begins a comment, up to the end of the line
//   'x' "x" \x                         part of a word, without the quotes
//   $(…) `…` ${…} $((…))               part of a word, as written
//   > FILE 2>&1 &> FILE                left out; < FILE and <<< WORD: the command has input
//   << END                             the command has input; the lines up to END are left out
//   ( { if for while case …            begins a block; so does && or ||, up to the end of the line
//   ) } fi done esac                   ends the block; < FILE after it is the input of all its commands
//   then elif else ;;                  ends one branch's block and begins the next one
//   for NAME, select NAME, ((NAME=…))  a command without words that sets NAME
//   case WORD in, function NAME        left out
//   NAME() and PATTERN)                no command
//   A=(x y)                            an assignment of the value "x y"
#include "common/command/shell_words.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/command/shell_cursor.h"

namespace muster {
namespace {

constexpr size_t kMaxCommands = 1024;
constexpr std::string_view kBeforeCommand[] = {"if", "then", "else", "elif", "fi", "while", "until",
                                               "do", "done", "esac", "{",    "}",  "!"};
constexpr std::string_view kNoCommand[] = {"case", "function", "[[", "[", "in"};

template <size_t kCount>
bool IsOneOf(const std::string_view (&words)[kCount], std::string_view word) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

bool IsNameByte(char c) { return c == '_' || absl::ascii_isalnum(static_cast<unsigned char>(c)); }

// True if the text after a name in an arithmetic expression assigns to the name: =, +=, <<= or ++, but not == or <=.
bool Assigns(std::string_view after) {
  const size_t sign = std::min(after.find_first_not_of("+-*/%&|^<>"), after.size());
  const std::string_view begin = after.substr(0, 2);
  if (begin == "++" || begin == "--") return true;
  return sign < 3 && after.substr(sign, 1) == "=" && after.substr(sign, 2) != "==" && begin != "<=" && begin != ">=";
}

// Returns the names that an arithmetic expression assigns to.
std::vector<std::string> NamesAssignedIn(std::string_view expression) {
  std::vector<std::string> names;
  for (size_t at = 0; at < expression.size(); ++at) {
    const size_t begin = at;
    while (at < expression.size() && IsNameByte(expression[at])) ++at;
    if (at == begin) continue;
    const std::string_view before = expression.substr(0, begin).substr(begin < 2 ? 0 : begin - 2);
    const size_t after = std::min(expression.find_first_not_of(" \t", at), expression.size());
    if (Assigns(expression.substr(after)) || before == "++" || before == "--") {
      names.emplace_back(expression.substr(begin, at - begin));
    }
  }
  return names;
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : cursor_(text) {}

  std::vector<ShellCommand> Run() {
    while (!cursor_.IsAtEnd() && commands_.size() < kMaxCommands && open_.size() <= ShellCursor::kMaxNesting) Step();
    if (open_.size() <= ShellCursor::kMaxNesting) EndCommand();
    return std::move(commands_);
  }

 private:
  enum class Kind { kBraces, kBrackets, kIf, kLoop, kCase, kList };
  struct Open {
    Kind kind;
    ShellBlock block;
    size_t first = 0;  // the index of its first command
    bool has_input = false;
    bool wants_pattern = false;  // in a `case`: up to the next ), the text is a pattern
  };

  void Step() {
    const char c = cursor_.Here();
    if (cursor_.IsBlank()) {
      cursor_.SkipBlanks();
    } else if (cursor_.IsNext("\\\n")) {
      cursor_.Skip(2);
    } else if (c == '#') {
      cursor_.SkipToLineEnd();
    } else if (c == '\n') {
      cursor_.Skip(1);
      if (!goes_on_) EndList();
      cursor_.SkipHereDocuments(documents_);
    } else if (c == '<' || c == '>' || cursor_.IsNext("&>")) {
      Redirect();
    } else if (c == '(') {
      OpenBracket();
    } else if (c == ')') {
      CloseBracket();
    } else if (c == ';' || c == '&' || c == '|') {
      Separate();
    } else {
      TakeWord();
    }
  }

  bool IsEmpty() const { return command_.words.empty() && command_.assignments.empty(); }
  bool WantsPattern() const { return !open_.empty() && open_.back().wants_pattern; }
  bool IsOpen(Kind kind) const { return !open_.empty() && open_.back().kind == kind; }

  void Begin(Kind kind) {
    const bool is_body = kind == Kind::kBraces || kind == Kind::kBrackets;
    const bool is_function = is_body && std::exchange(is_function_, false);
    open_.push_back({kind, {++last_id_, is_function}, commands_.size(), command_.has_input, kind == Kind::kCase});
    goes_on_ = false;
  }

  void BeginArm(Kind kind) {
    if (IsOpen(kind)) open_.back().block.id = ++last_id_;
  }

  // Ends the innermost open block of this kind, with all blocks in it.
  void Finish(Kind kind) {
    const auto found = std::find_if(open_.rbegin(), open_.rend(), [&](const Open& each) { return each.kind == kind; });
    if (found == open_.rend()) return;
    closed_ = found->first;
    open_.erase(std::prev(found.base()), open_.end());
    command_.has_input = !open_.empty() && open_.back().has_input;
  }

  void TakeKeyword(std::string_view word) {
    goes_on_ = false;
    if (word == "if") Begin(Kind::kIf);
    if (word == "then" || word == "else" || word == "elif") BeginArm(Kind::kIf);
    if (word == "while" || word == "until") Begin(Kind::kLoop);
    if (word == "{") Begin(Kind::kBraces);
    if (word == "fi") Finish(Kind::kIf);
    if (word == "done") Finish(Kind::kLoop);
    if (word == "esac") Finish(Kind::kCase);
    if (word == "}") Finish(Kind::kBraces);
  }

  void TakeWord() {
    const size_t begin = cursor_.at();
    std::string value = cursor_.ReadWord();
    if (cursor_.at() == begin) {  // the character here can't begin a word
      cursor_.Skip(1);
      return;
    }
    // As in a shell, digits are a descriptor only directly before the sign: 2>x, not 2 >x.
    const bool is_fd = (cursor_.Here() == '<' || cursor_.Here() == '>') && !value.empty() &&
                       value.find_first_not_of("0123456789") == std::string::npos;
    if (is_fd) redirection_at_ = begin;
    if (is_fd || (value.empty() && cursor_.Since(begin) == "\\\n")) return;
    const bool is_plain = Typed(begin) == value;
    if (is_plain && IsEmpty() && IsOneOf(kBeforeCommand, value) && (!WantsPattern() || value == "esac")) {
      closed_.reset();  // must come before TakeKeyword, which sets it at the end of a block
      return TakeKeyword(value);
    }
    const bool is_body = is_plain && value == "{" && !command_.words.empty() && command_.words[0] == "function";
    if (is_body) {
      EndCommand();
      return Begin(Kind::kBraces);
    }
    if (is_plain && IsEmpty() && !WantsPattern()) {
      if (value == "for" || value == "select") Begin(Kind::kLoop);
      if (value == "case" && TakeCaseHead()) return;
    }
    const bool is_declaration = !command_.words.empty() && IsDeclaration(command_.words[0]);
    const bool is_assignment = (command_.words.empty() || is_declaration) && IsAssignment(value);
    if (is_assignment && cursor_.Here() == '(' && absl::EndsWith(value, "=")) value += ReadArray();
    Extend(begin);
    const bool is_before = is_assignment && !is_declaration;
    (is_before ? command_.typed_assignments : command_.typed).emplace_back(Typed(begin));
    (is_before ? command_.assignments : command_.words).push_back(std::move(value));
  }

  // Returns the word as typed. Drops a line continuation after it: no blank separates the two, so both were read
  // together.
  std::string_view Typed(size_t begin) const {
    std::string_view typed = cursor_.Since(begin);
    while (typed.ends_with("\\\n")) typed.remove_suffix(2);
    return typed;
  }

  // Reads `WORD in`, after `case`.
  bool TakeCaseHead() {
    const size_t begin = cursor_.at();
    cursor_.SkipBlanks();
    cursor_.ReadWord();
    while (cursor_.IsBlank() || cursor_.Here() == '\n') cursor_.Skip(1);
    if (cursor_.ReadWord() != "in") {
      cursor_.GoBackTo(begin);
      return false;
    }
    Begin(Kind::kCase);
    return true;
  }

  void Extend(size_t begin) {
    goes_on_ = false;
    is_function_ = false;
    closed_.reset();
    if (IsEmpty()) {
      command_.begin = redirections_.empty() ? begin : redirections_begin_;
      command_.line = cursor_.LineOf(begin);
    }
    command_.end = cursor_.at();
    std::move(redirections_.begin(), redirections_.end(), std::back_inserter(command_.redirections));
    redirections_.clear();
  }

  // Handles (. After NAME it begins a function, and the name is no command. Otherwise arithmetic or a subshell begins.
  void OpenBracket() {
    if (WantsPattern()) return cursor_.Skip(1);
    const bool is_head = command_.words.size() == 1 && command_.words[0] == "for";
    if (cursor_.IsNext("((") && (IsEmpty() || is_head) && TakeArithmetic()) return;
    is_dropped_ = !command_.words.empty();
    const bool is_name = is_dropped_;
    EndCommand();
    cursor_.Skip(1);
    cursor_.SkipBlanks();
    if (is_name && cursor_.Here() == ')') {
      cursor_.Skip(1);
      is_function_ = true;
    } else {
      Begin(Kind::kBrackets);
    }
  }

  bool TakeArithmetic() {
    const size_t begin = cursor_.at();
    cursor_.SkipBracket();
    const std::string_view text = cursor_.Since(begin);
    if (!text.ends_with("))")) {
      cursor_.GoBackTo(begin);
      return false;
    }
    Extend(begin);
    command_.sets = NamesAssignedIn(text);
    return true;
  }

  void CloseBracket() {
    cursor_.Skip(1);
    if (WantsPattern()) {
      open_.back().wants_pattern = false;
      is_dropped_ = true;
      return EndCommand();
    }
    // A closing bracket without an opening one also ends a pattern.
    is_dropped_ |=
        std::none_of(open_.begin(), open_.end(), [](const Open& each) { return each.kind == Kind::kBrackets; });
    EndList();
    Finish(Kind::kBrackets);
  }

  void Separate() {
    const char c = cursor_.Here();
    if (WantsPattern() && c == '|') return cursor_.Skip(1);  // separates two patterns: a|b)
    const bool is_double = cursor_.Here(1) == c;
    const bool is_and_or = is_double && c != ';';
    const bool is_arm = c == ';' && (is_double || cursor_.Here(1) == '&');
    const bool is_pipe = c == '|' && !is_double;
    const bool is_long = is_double || is_arm || cursor_.IsNext("|&");
    cursor_.Skip(is_long ? 2 : 1);
    if (is_and_or) {
      EndCommand();
      GoOnWith(c);
    } else if (is_pipe) {
      EndCommand();
      command_.has_input = true;
    } else {
      EndList();
      if (is_arm) {
        BeginArm(Kind::kCase);
        if (IsOpen(Kind::kCase)) open_.back().wants_pattern = true;
      }
    }
    goes_on_ = is_and_or || is_pipe;
  }

  // Begins a block after && or ||. A second && in a row continues the block of the first.
  void GoOnWith(char sign) {
    if (!IsOpen(Kind::kList)) {
      Begin(Kind::kList);
    } else if (sign != '&' || list_sign_ != '&') {
      BeginArm(Kind::kList);
    }
    list_sign_ = sign;
  }

  void EndList() {
    EndCommand();
    if (IsOpen(Kind::kList)) open_.pop_back();
    command_.has_input = !open_.empty() && open_.back().has_input;
  }

  void EndCommand() {
    goes_on_ = false;
    closed_.reset();
    const std::string first = command_.words.empty() ? "" : command_.words[0];
    const bool is_loop = first == "for" || first == "select";
    if (is_loop) {
      if (command_.words.size() > 1) command_.sets.push_back(command_.words[1]);
      command_.words.clear();
      command_.typed.clear();
    }
    if (first == "function") is_function_ = true;
    const bool is_any = !IsEmpty() || !command_.sets.empty();
    if (is_any && !IsOneOf(kNoCommand, first) && !is_dropped_) {
      for (const Open& each : open_) command_.blocks.push_back(each.block);
      commands_.push_back(std::move(command_));
    }
    command_ = {};
    redirections_.clear();
    command_.has_input = !open_.empty() && open_.back().has_input;
    is_dropped_ = false;
  }

  void Redirect() {
    const size_t begin = cursor_.at();
    const size_t first = std::exchange(redirection_at_, std::nullopt).value_or(begin);
    if (cursor_.IsNext("<(") || cursor_.IsNext(">(")) {  // process substitution: the command sees a file name
      cursor_.Skip(1);
      cursor_.SkipBracket();
      Extend(begin);
      command_.typed.emplace_back(cursor_.Since(begin));
      command_.words.emplace_back(cursor_.Since(begin));
      return;
    }
    const bool is_input = cursor_.Here() == '<';
    command_.has_input |= is_input;
    if (is_input && closed_ && IsEmpty()) {
      for (size_t i = *closed_; i < commands_.size(); ++i) commands_[i].has_input = true;
    }
    if (cursor_.IsNext("<<") && !cursor_.IsNext("<<<")) {
      documents_.push_back(cursor_.ReadHereOperator());
    } else {
      while (!cursor_.IsAtEnd() && std::string_view("<>&|").find(cursor_.Here()) != std::string_view::npos &&
             !cursor_.IsNext("<(") && !cursor_.IsNext(">(")) {
        cursor_.Skip(1);
      }
      cursor_.SkipBlanks();
      if (cursor_.IsNext("<(") || cursor_.IsNext(">(")) {
        cursor_.Skip(1);
        cursor_.SkipBracket();
      } else {
        cursor_.ReadWord();
      }
    }
    if (redirections_.empty()) redirections_begin_ = first;
    redirections_.emplace_back(cursor_.Since(first));
  }

  std::string ReadArray() {
    const size_t begin = cursor_.at();
    cursor_.SkipBracket();
    const std::string_view array = cursor_.Since(begin);
    return array.size() < 2 ? "" : std::string(array.substr(1, array.size() - 2));
  }

  ShellCursor cursor_;
  uint32_t last_id_ = 0;
  bool is_dropped_ = false;
  bool is_function_ = false;               // the next { or ( begins a function's body
  bool goes_on_ = false;                   // after | && ||: a newline does not end the list
  char list_sign_ = '\0';                  // the last sign of the innermost list: & for &&, | for ||
  std::optional<size_t> redirection_at_;   // where the redirection's descriptor stands: the 2 in 2>x
  std::vector<std::string> redirections_;  // those after the last word
  size_t redirections_begin_ = 0;          // where the first of them begins
  std::optional<size_t> closed_;           // set right after the end of a block: the index of its first command
  std::vector<Open> open_;
  ShellCommand command_;
  std::vector<ShellCursor::HereDocument> documents_;
  std::vector<ShellCommand> commands_;
};

}  // namespace

std::vector<ShellCommand> ShellCommands(std::string_view text) { return Scanner(text).Run(); }

bool IsVariableName(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), IsNameByte) && (word[0] < '0' || word[0] > '9');
}

bool IsAssignment(std::string_view word) {
  const std::string_view name = word.substr(0, word.find('='));
  return name.size() < word.size() && IsVariableName(name.substr(0, name.size() - (name.ends_with("+") ? 1 : 0)));
}

bool IsDeclaration(std::string_view word) {
  constexpr std::string_view kDeclarations[] = {"export", "declare", "local", "readonly", "typeset"};
  return IsOneOf(kDeclarations, word);
}

size_t FindOutsideExpansions(std::string_view word, char c) {
  ShellCursor cursor(word);
  while (!cursor.IsAtEnd() && cursor.Here() != c) {
    if (!cursor.SkipExpansion()) cursor.Skip(1);
  }
  return cursor.IsAtEnd() ? std::string_view::npos : cursor.at();
}

std::string ShellWord(const std::string& word) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./{}-";
  const bool may_be_several =
      word.find('{') != std::string::npos &&
      (word.find(',') != std::string::npos || word.find("..") != std::string::npos);  // bash would expand it
  if (!word.empty() && !may_be_several && word.find_first_not_of(kPlain) == std::string::npos) return word;
  // Nothing can be escaped in '…'. So a quote in the word is written as '\'': the quoted part ends, an escaped quote
  // follows, and a new quoted part begins.
  return absl::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
}

std::string ShellWordToExpand(const std::string& word) {
  if (word.find_first_of("$`") == std::string::npos) return ShellWord(word);
  std::string quoted = "\"";
  ShellCursor cursor(word);
  while (!cursor.IsAtEnd()) {
    const size_t begin = cursor.at();
    if (cursor.IsNext("\\$")) {
      cursor.Skip(2);
    } else if (!cursor.SkipExpansion()) {
      // Quotes in $(…) belong to the expansion, so they are not escaped.
      if (cursor.Here() == '"' || cursor.Here() == '\\') quoted += '\\';
      cursor.Skip(1);
    }
    quoted += cursor.Since(begin);
  }
  return quoted + "\"";
}

}  // namespace muster
