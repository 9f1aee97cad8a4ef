// The message for a syntax error, by the text at which parsing fails. The first row that fits applies:
//
//   the file begins as UTF-16                     save it as UTF-8
//   brackets nest too deep                        names the first bracket that is too deep
//   the end of the file                           names the bracket that is still open, and its place
//   a string without an end in its line           names the place where the string begins
//   something after the whole object              one file contains one table
//   ] or } after a comma                          remove the comma
//   ] instead of }, or the reverse                names the open bracket and its place
//   '                                             strings need double quotes
//   / or #                                        JSON has no comments
//   a value right after a value                   a comma is missing
//   a word or a number that JSON does not have    put it in quotes
//   anything else                                 what was found, and what is expected there
//   bytes that only nlohmann's parser refuses     names the place (wrong escapes or UTF-8)
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/text.h"
#include "worker_agent/launch/rank_table_parts.h"

namespace muster::agent {
namespace {

constexpr size_t kDeepest = 8;  // the most nested brackets; a correct table has five
constexpr size_t kShownBytes = 20;
constexpr char kByteOrderMark[] = "\xef\xbb\xbf";  // nlohmann's parser skips it, too

// Returns the place of a byte as "line 4, column 2".
std::string Place(const std::string& text, size_t byte) {
  const absl::string_view before = absl::string_view(text).substr(0, byte);
  const size_t line_begin = before.rfind('\n') == absl::string_view::npos ? 0 : before.rfind('\n') + 1;
  const auto is_first_byte = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  const absl::string_view line = before.substr(line_begin);
  return absl::StrCat("line ", std::count(before.begin(), before.end(), '\n') + 1, ", column ",
                      std::count_if(line.begin(), line.end(), is_first_byte) + 1);
}

// Returns the position of the first bracket that nests deeper than kDeepest. Must run before parsing: for a deeply
// nested text the parser needs a hundred times the text's size in memory. nlohmann's own means, a callback, is too
// slow: with a callback the parser goes through a whole list after each entry (3 s for 100,000 servers).
std::optional<size_t> TooDeep(const std::string& text) {
  size_t depth = 0;
  bool is_quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      is_quoted = !is_quoted;
    } else if (is_quoted) {
      continue;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepest) return i;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return std::nullopt;
}

// Finds the byte where nlohmann's parser stopped. The parser reports it only through this interface for events.
class StopFinder : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    end = position;
    return false;
  }

  size_t end = 0;  // the byte after the last one that the parser has read
};

bool IsOfWord(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("_.+-", c) || (c & 0x80) != 0;
}

// Returns the word that begins at `begin`, or the single character if no word does.
std::string WordAt(const std::string& text, size_t begin) {
  size_t end = begin;
  while (end < text.size() && IsOfWord(text[end])) ++end;
  return text.substr(begin, std::max<size_t>(end - begin, 1));
}

std::string Shown(const std::string& text, size_t begin) { return Quoted(WordAt(text, begin), kShownBytes); }

enum class Expected { kValue, kValueOrEnd, kKey, kKeyOrEnd, kColon, kCommaOrEnd, kNothing };

const char* Words(Expected expected) {
  switch (expected) {
    case Expected::kValue:
    case Expected::kValueOrEnd:
      return "a value";
    case Expected::kKey:
    case Expected::kKeyOrEnd:
      return "a key in double quotes";
    case Expected::kColon:
      return "a colon";
    case Expected::kCommaOrEnd:
      return "a comma or the closing bracket";
    case Expected::kNothing:
      return "the end";
  }
  return "";
}

// Goes through a text token by token to its first syntax error, and explains that.
class Slip {
 public:
  explicit Slip(const std::string& text) : text_(text) {}

  std::string Find();

 private:
  // Skips white space. Returns true if a token follows.
  bool Skip();
  bool TakeString();
  bool TakeWord();
  bool TakeBracket(char c);
  void TakeValue() { expected_ = open_.empty() ? Expected::kNothing : Expected::kCommaOrEnd; }
  bool IsInObject() const { return !open_.empty() && text_[open_.back()] == '{'; }
  bool ExpectsValue() const { return expected_ == Expected::kValue || expected_ == Expected::kValueOrEnd; }
  bool ExpectsKey() const { return expected_ == Expected::kKey || expected_ == Expected::kKeyOrEnd; }
  bool TakeToken();
  std::string AtEnd() const;
  std::string Here() const;

  const std::string& text_;
  size_t at_ = 0;
  size_t last_ = 0;           // the end of the token before the current one
  std::vector<size_t> open_;  // the positions of the open brackets
  Expected expected_ = Expected::kValue;
  bool is_cut_text_ = false;
};

bool Slip::Skip() {
  last_ = at_;
  at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
  return at_ < text_.size();
}

bool Slip::TakeString() {
  if (!ExpectsKey() && !ExpectsValue()) return false;
  size_t end = at_ + 1;
  while (end < text_.size() && text_[end] != '"' && static_cast<unsigned char>(text_[end]) >= ' ') {
    end += text_[end] == '\\' ? 2 : 1;
  }
  is_cut_text_ = end >= text_.size() || text_[end] != '"';
  if (is_cut_text_) return false;
  at_ = end + 1;
  if (ExpectsKey()) {
    expected_ = Expected::kColon;
  } else {
    TakeValue();
  }
  return true;
}

bool Slip::TakeWord() {
  const std::string word = WordAt(text_, at_);
  if (!ExpectsValue() || !nlohmann::json::accept(word)) return false;
  at_ += word.size();
  TakeValue();
  return true;
}

bool Slip::TakeBracket(char c) {
  if (c == '{' || c == '[') {
    if (!ExpectsValue()) return false;
    open_.push_back(at_++);
    expected_ = c == '{' ? Expected::kKeyOrEnd : Expected::kValueOrEnd;
    return true;
  }
  const Expected may_end = IsInObject() ? Expected::kKeyOrEnd : Expected::kValueOrEnd;
  if (open_.empty() || IsInObject() != (c == '}')) return false;
  if (expected_ != Expected::kCommaOrEnd && expected_ != may_end) return false;
  open_.pop_back();
  ++at_;
  TakeValue();
  return true;
}

bool Slip::TakeToken() {
  const char c = text_[at_];
  if (c == '"') return TakeString();
  if (absl::StrContains("{}[]", c)) return TakeBracket(c);
  if (c == ',' && expected_ == Expected::kCommaOrEnd) {
    ++at_;
    expected_ = IsInObject() ? Expected::kKey : Expected::kValue;
    return true;
  }
  if (c == ':' && expected_ == Expected::kColon) {
    ++at_;
    expected_ = Expected::kValue;
    return true;
  }
  return TakeWord();
}

std::string Slip::AtEnd() const {
  if (last_ == 0) return "line 1, column 1: the file is empty";
  return absl::StrCat(Place(text_, last_), ": the text ends here, cut off? The ",
                      Quoted(text_.substr(open_.empty() ? 0 : open_.back(), 1)), " of ",
                      Place(text_, open_.empty() ? 0 : open_.back()),
                      " is not closed (some tools write the file in place: try again in a moment)");
}

std::string Slip::Here() const {
  const std::string where = absl::StrCat(Place(text_, at_), ": ");
  const std::string found = Shown(text_, at_);
  const char c = text_[at_];
  if (is_cut_text_) return absl::StrCat(where, "the text that begins here has no \" at its end");
  if (expected_ == Expected::kNothing) {
    return absl::StrCat(where, "after the whole object comes ", found,
                        "; one file holds one table: put all servers into one server_list");
  }
  const bool is_closing = c == ']' || c == '}';
  if (is_closing && last_ > 0 && text_[last_ - 1] == ',') {
    return absl::StrCat(where, found, " comes after a comma; remove the comma at ", Place(text_, last_ - 1));
  }
  if (is_closing && !open_.empty() && IsInObject() != (c == '}')) {
    return absl::StrCat(where, found, " does not close the ", Quoted(text_.substr(open_.back(), 1)), " of ",
                        Place(text_, open_.back()));
  }
  if (c == '\'') return absl::StrCat(where, "keys and texts need double quotes, not single ones");
  if (c == '/' || c == '#') return absl::StrCat(where, "JSON has no comments; remove this one");
  const bool begins_value = c == '"' || c == '[' || c == '{' || IsOfWord(c);
  if (expected_ == Expected::kCommaOrEnd && begins_value && (c & 0x80) == 0) {
    return absl::StrCat(where, "a comma is missing before this, after ", Place(text_, last_ - 1));
  }
  if (ExpectsValue() && IsOfWord(c)) {
    return absl::StrCat(where, found, " is no value of JSON; write it as a text, in double quotes");
  }
  return absl::StrCat(where, "found ", found, ", expected ", Words(expected_));
}

std::string Slip::Find() {
  if (absl::StartsWith(text_, "\xff\xfe") || absl::StartsWith(text_, "\xfe\xff")) {
    return "line 1, column 1: the file is in UTF-16; save it as UTF-8";
  }
  if (absl::StartsWith(text_, kByteOrderMark)) at_ = sizeof kByteOrderMark - 1;
  while (Skip()) {
    if (!TakeToken()) return Here();
  }
  if (expected_ != Expected::kNothing) return AtEnd();
  StopFinder finder;
  nlohmann::json::sax_parse(text_.begin(), text_.end(), &finder);
  return absl::StrCat(Place(text_, std::min(finder.end, text_.size()) - std::min<size_t>(finder.end, 1)),
                      ": JSON does not allow this here; a \\ is only allowed in escapes, and the file must be UTF-8");
}

struct Format {
  const char* key;  // a member that only this format has
  const char* name;
};

constexpr std::array kFormats = {
    Format{"group_list",
           "it has group_list: this is the format of 2020, which ModelArts (jobstart_hccl.json) still writes"},
    Format{"server_group_list", "it has server_group_list: this is MindIE's table of several groups"},
    Format{"rank_list", "it has rank_list: this is version 2.0, the format of the devices of 2026"},
};

}  // namespace

absl::StatusOr<nlohmann::json> ParseTableJson(const std::string& text) {
  if (const auto too_deep = TooDeep(text)) {
    return absl::InvalidArgumentError(
        absl::StrCat(Place(text, *too_deep), ": its lists and objects nest deeper than ", kDeepest));
  }
  nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return absl::InvalidArgumentError(Slip(text).Find());
  if (!json.is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat(Place(text, std::min(text.find_first_not_of(" \t\r\n"), text.size())), ": it is ",
                     json.is_array() ? "a list" : "a single value", ", expected an object, in braces"));
  }
  return json;
}

std::string OtherFormat(const nlohmann::json& table) {
  for (const Format& format : kFormats) {
    if (table.contains(format.key) && !table.contains("server_list")) return format.name;
  }
  return "";
}

}  // namespace muster::agent
