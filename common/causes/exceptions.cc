// These lines count as an exception:
//
//   Traceback …, frames, a line "Type: message"   a Python exception. Lines of several ranks may mix, so a traceback
//                                                 consists of lines with the same prefix ("[rank0]: ")
//   frames and a line "Type: message"             a Python exception whose traceback's first lines are lost; counts
//                                                 only if Type is the name of an exception
//   a box with rich's traceback, "Type: message"  a Python exception; also if only the end of the box is left
//   "Type      Traceback …", "Type: message"      an exception that IPython shows
//   terminate called …, what()                    a C++ exception
//   a line that reports a hardware fault          such a fault makes everything after it fail
//
// A traceback after "Exception ignored in" or "--- Logging error ---" does not count: it did not end the program.
//
// Only exceptions at the end of the output count. Between two of them, and between the last one and the end, there may
// be at most kOtherLines other lines; between a script's exception and its launcher's, at most kLaunchersLines. If
// several exceptions are left, the kind that stands first here is reported, and of that kind the last exception:
//
//   a hardware fault; the program's own exception; a consequence of another process's end; a launcher's report
#include "common/causes/exceptions.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/limits.h"
#include "common/base/text.h"
#include "common/causes/known_texts.h"

namespace muster {
namespace {

constexpr size_t kMessageLines = 8;      // of a message, after its first line
constexpr size_t kOtherLines = 20;       // most lines between two exceptions that belong together
constexpr size_t kLaunchersLines = 100;  // as kOtherLines, if one is a launcher's: other ranks write meanwhile
constexpr size_t kMaxOpen = 16;          // open tracebacks at once: the lines of several may mix
constexpr size_t kMaxTraceback = 400;
constexpr size_t kMaxWeighed = 64;    // most exceptions that Choose compares; each is looked up in the whole table
constexpr size_t kIgnoredWithin = 4;  // lines from "Exception ignored in" to its traceback

constexpr char kHead[] = "Traceback (most recent call last)";

constexpr std::array<absl::string_view, 9> kEndings = {"Error",   "Exception", "Interrupt", "Exit",   "Iteration",
                                                       "Expired", "Group",     "Warning",   "Failure"};

constexpr std::array<absl::string_view, 8> kLaunchers = {
    "ChildFailedError", "CalledProcessError", "ProcessExitedException", "ProcessRaisedException",
    "SignalException",  "BrokenProcessPool",  "TerminatedWorkerError",  "UnexpectedExit"};

// Python's own exceptions. Their messages have one line.
constexpr std::array<absl::string_view, 12> kOfPython = {
    "KeyError",      "IndexError",     "NameError",         "AttributeError",
    "TypeError",     "AssertionError", "ZeroDivisionError", "UnboundLocalError",
    "StopIteration", "SyntaxError",    "IndentationError",  "NotImplementedError"};

bool IsIdentifier(absl::string_view name) {
  if (name.empty() || absl::ascii_isdigit(static_cast<unsigned char>(name[0]))) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || (c & 0x80) != 0;
  });
}

// Returns "json.decoder.JSONDecodeError" for "json.decoder.JSONDecodeError: Expecting value"; empty if the line does
// not begin with a type's name.
absl::string_view TypeOf(absl::string_view line) {
  const absl::string_view type = line.substr(0, line.find(':'));
  if (type.size() < line.size() && type.size() + 1 < line.size() && line[type.size() + 1] != ' ') return "";
  return IsIdentifier(type) ? type : "";
}

// Returns where a frame begins in a line: `  File "train.py", line 3`. The text before it is the prefix of all lines of
// this traceback.
size_t FindFrame(absl::string_view line) {
  size_t at = line.find("  File \"");
  if (at == absl::string_view::npos)
    at = line.find("> File \"");  // loguru's mark of the frame that caught the exception
  const bool is_frame = at != absl::string_view::npos && absl::StrContains(line.substr(at), "\", line ");
  return is_frame ? at : absl::string_view::npos;
}

struct Frame {
  std::string file;
  uint32_t line = 0;

  bool IsOfLibrary() const {
    return absl::StrContains(file, "-packages/") || absl::StrContains(file, "/lib/python") ||
           absl::StartsWith(file, "<");
  }
};

// Parses a frame as Python, rich or IPython write it: `  File "train.py", line 3, in f`, `train.py:3 in f`, `File
// train.py:3, in f`.
Frame FrameOf(absl::string_view line) {
  Frame frame;
  const size_t quote = line.find("File \"");
  size_t end = line.rfind("\", line ");
  absl::string_view number;
  if (quote != absl::string_view::npos && end != absl::string_view::npos && end >= quote + 6) {
    frame.file = std::string(line.substr(quote + 6, end - quote - 6));
    number = line.substr(end + 8);
  } else {
    end = line.find(" in ");
    if (end == absl::string_view::npos) return frame;
    const size_t colon = line.rfind(':', end);
    if (colon == absl::string_view::npos) return frame;
    number = line.substr(colon + 1);
    frame.file = std::string(absl::StripPrefix(absl::StripAsciiWhitespace(line.substr(0, colon)), "File "));
  }
  size_t digits = 0;
  while (digits < number.size() && absl::ascii_isdigit(static_cast<unsigned char>(number[digits]))) ++digits;
  if (!absl::SimpleAtoi(number.substr(0, digits), &frame.line)) return {};
  return frame;
}

struct Found {
  size_t at = 0;  // the index of its line
  RaisedException exception;
};

struct Open {
  std::string prefix;
  std::string ipython_type;  // the type in the traceback's first line, if IPython wrote it; otherwise empty
  size_t begin = 0;
  bool has_head = false;
  bool has_frames = false;
  bool has_other_lines = false;
  bool is_ignored = false;
  bool is_box = false;  // a box of rich that has not ended yet
  Frame innermost, own;

  void Take(const Frame& frame) {
    if (frame.file.empty()) return;
    innermost = frame;
    if (!frame.IsOfLibrary()) own = frame;
  }
};

class Finder {
 public:
  explicit Finder(const std::vector<absl::string_view>& lines) : lines_(lines), is_other_(lines.size(), false) {}

  std::optional<RaisedException> Find();

 private:
  void Look(size_t at);
  Open& Opened(absl::string_view prefix, size_t at);
  bool IsIgnored(size_t at);
  bool TakeHead(absl::string_view line, size_t at);
  bool TakeBox(absl::string_view line, size_t at);
  bool TakeTerminate(absl::string_view line, size_t at);
  bool TakeLineOf(Open& open, absl::string_view line, size_t at);
  void Add(size_t at, absl::string_view type, absl::string_view message, const Open* open);
  size_t OthersBetween(size_t first, size_t last) const;
  RaisedException Choose() const;

  const std::vector<absl::string_view>& lines_;
  std::vector<bool> is_other_;  // lines that belong neither to an exception nor to a report about one
  std::vector<Open> open_;
  std::vector<Found> found_;
  size_t message_end_ = 0;            // lines before this one belong to the exception that was found last
  std::optional<size_t> ignored_at_;  // the line that announces an ignored exception
};

// True if the line before this traceback announced that it is ignored. Forgets that line: it counts for one traceback.
bool Finder::IsIgnored(size_t at) {
  const std::optional<size_t> said = std::exchange(ignored_at_, std::nullopt);
  return said && at - *said <= kIgnoredWithin;
}

// Adds an exception, and the lines after `at` that belong to its message.
void Finder::Add(size_t at, absl::string_view type, absl::string_view message, const Open* open) {
  Found found{at, {}};
  found.exception.type = std::string(type);
  found.exception.message = std::string(message);
  for (size_t i = at + 1; i < lines_.size() && i <= at + kMessageLines; ++i) {
    const absl::string_view line =
        open != nullptr ? absl::StripPrefix(lines_[i], open->prefix) : absl::string_view(lines_[i]);
    if (absl::StrContains(line, kHead)) break;
    absl::StrAppend(&found.exception.message, "\n", line);
  }
  if (open != nullptr) {
    const Frame& frame = open->own.file.empty() ? open->innermost : open->own;
    found.exception.file = frame.file;
    found.exception.line = frame.line;
  }
  found_.push_back(std::move(found));
}

Open& Finder::Opened(absl::string_view prefix, size_t at) {
  for (Open& open : open_) {
    if (open.prefix == prefix) return open;
  }
  if (open_.size() == kMaxOpen) open_.erase(open_.begin());
  Open& open = open_.emplace_back();
  open.prefix = std::string(prefix);
  open.begin = at;
  return open;
}

// Takes a line of rich's box: "╭──── Traceback (most recent call last) ────╮", "│ /job/train.py:3 in <module> │",
// "╰────╯".
bool Finder::TakeBox(absl::string_view line, size_t at) {
  const size_t begin = std::min(line.find("╭"), line.find("+-"));
  if (begin != absl::string_view::npos && absl::StrContains(line, kHead)) {
    const bool is_ignored = IsIgnored(at);
    Opened(line.substr(0, begin), at) =
        Open{std::string(line.substr(0, begin)), "", at, true, true, false, is_ignored, true, {}, {}};
    return true;
  }
  for (Open& open : open_) {
    if (!open.is_box || !absl::StartsWith(line, open.prefix)) continue;
    const absl::string_view inner = line.substr(open.prefix.size());
    const bool is_row = absl::StartsWith(inner, "│") || absl::StartsWith(inner, "|");
    if (is_row) open.Take(FrameOf(absl::StripPrefix(absl::StripPrefix(inner, "│ "), "| ")));
    if (absl::StartsWith(inner, "╰") || absl::StartsWith(inner, "+-")) {
      open.is_box = false;
    } else if (!is_row) {
      continue;  // the line belongs to another traceback
    }
    return true;
  }
  const size_t end = line.find("╰─");
  if (end == absl::string_view::npos) return false;
  Opened(line.substr(0, end), at).has_frames = true;  // the first lines of the box are lost
  return true;
}

bool Finder::TakeHead(absl::string_view line, size_t at) {
  const size_t head = line.find(kHead);
  if (head == absl::string_view::npos) return false;
  absl::string_view prefix = line.substr(0, head);
  const absl::string_view type = absl::StripTrailingAsciiWhitespace(prefix);
  std::string ipython_type;
  if (type.size() + 2 <= prefix.size() && LooksLikeException(type) && IsIdentifier(type)) {
    ipython_type = std::string(type);
    prefix = "";
  } else {
    for (const absl::string_view word : {"Original ", "+ Exception Group "}) prefix = absl::StripSuffix(prefix, word);
    if (const size_t bar = prefix.find("traceback : "); bar != absl::string_view::npos)
      prefix = "  ";  // in torchrun's report
  }
  const bool is_ignored = IsIgnored(at);
  Opened(prefix, at) =
      Open{std::string(prefix), ipython_type, at, true, !ipython_type.empty(), false, is_ignored, false, {}, {}};
  return true;
}

bool Finder::TakeTerminate(absl::string_view line, size_t at) {
  constexpr absl::string_view kTerminate = "terminate called after throwing an instance of '";
  const size_t begin = line.find(kTerminate);
  if (begin == absl::string_view::npos) return false;
  const absl::string_view rest = line.substr(begin + kTerminate.size());
  const size_t what = at + 1 < lines_.size() ? lines_[at + 1].find("what():") : absl::string_view::npos;
  const bool has_what = what != absl::string_view::npos;
  Add(has_what ? at + 1 : at, rest.substr(0, rest.find('\'')),
      has_what ? absl::StripAsciiWhitespace(lines_[at + 1].substr(what + 7)) : line.substr(begin), nullptr);
  found_.back().exception.is_native = true;
  message_end_ = at + 2;
  return true;
}

// Takes a line of an open traceback. Returns false if the line does not belong to it.
bool Finder::TakeLineOf(Open& open, absl::string_view line, size_t at) {
  const absl::string_view rest = line.substr(open.prefix.size());
  if (rest.empty() || absl::ascii_isspace(static_cast<unsigned char>(rest[0]))) return true;
  if (!open.ipython_type.empty()) {
    if (absl::StartsWith(rest, "File ") || rest[0] == '/' || rest[0] == '~') open.Take(FrameOf(rest));
    if (!absl::StartsWith(rest, open.ipython_type)) return true;
  }
  if (!open.has_frames) return false;
  const absl::string_view text = absl::StripAsciiWhitespace(rest);
  const absl::string_view type = TypeOf(text);
  if (type.empty() || ((open.has_other_lines || !open.has_head) && !LooksLikeException(type))) {
    open.has_other_lines = true;
    return false;
  }
  if (!open.is_ignored) {
    const absl::string_view message = text.size() > type.size() ? text.substr(type.size() + 1) : "";
    Add(at, type, absl::StripAsciiWhitespace(message), &open);
    message_end_ = at + 1;
  }
  open_.erase(open_.begin() + (&open - open_.data()));
  return true;
}

// True for lines that belong to a report about an exception, but not to its traceback.
bool IsOfReport(absl::string_view line) {
  const absl::string_view text = absl::StripLeadingAsciiWhitespace(line);
  if (text.size() < line.size() || text.empty()) return true;
  constexpr std::array<absl::string_view, 14> kWords = {"frame #",
                                                        "Exception raised from",
                                                        "The above exception was",
                                                        "During handling of the above",
                                                        "closing signal",
                                                        "(exitcode: ",
                                                        "======",
                                                        "------",
                                                        "│",
                                                        "─",
                                                        "wandb: ",
                                                        "C++ CapturedTraceback",
                                                        "#",
                                                        "For debugging consider"};
  return std::any_of(kWords.begin(), kWords.end(), [&](absl::string_view word) {
    // "#" counts only at the beginning of a line, where it marks a C++ frame ("#4 c10::Error").
    return word == "#" ? text[0] == '#' : absl::StrContains(text, word);
  });
}

void Finder::Look(size_t at) {
  const absl::string_view line = lines_[at];
  if (absl::StrContains(line, "Exception ignored in") || absl::StrContains(line, "--- Logging error ---")) {
    ignored_at_ = at;
  }
  if (TakeBox(line, at) || TakeHead(line, at) || TakeTerminate(line, at)) return;
  if (const size_t frame = FindFrame(line); frame != absl::string_view::npos) {
    Open& open = Opened(line.substr(0, frame), at);
    open.has_frames = true;
    open.has_other_lines = false;
    return open.Take(FrameOf(line.substr(frame)));
  }
  open_.erase(
      std::remove_if(open_.begin(), open_.end(), [at](const Open& open) { return at - open.begin > kMaxTraceback; }),
      open_.end());
  // Try the longest prefix first, because an empty prefix matches every line.
  std::stable_sort(open_.begin(), open_.end(),
                   [](const Open& a, const Open& b) { return a.prefix.size() > b.prefix.size(); });
  for (Open& open : open_) {
    if (absl::StartsWith(line, open.prefix) && TakeLineOf(open, line, at)) return;
  }
  if (at < message_end_) return;
  if (!ReasonByText(line, TextPlace::kLine, Evidence::kHardware).empty()) {
    found_.push_back({at, {"", std::string(absl::StripAsciiWhitespace(line)), "", 0, false}});
  }
  is_other_[at] = !IsOfReport(line);
}

size_t Finder::OthersBetween(size_t first, size_t last) const {
  if (last <= first + 1) return 0;  // both are in one line, whose text has two reports
  return static_cast<size_t>(std::count(is_other_.begin() + static_cast<std::ptrdiff_t>(first) + 1,
                                        is_other_.begin() + static_cast<std::ptrdiff_t>(last), true));
}

RaisedException Finder::Choose() const {
  const auto weight = [](const RaisedException& exception) {
    const int evidence = IsOfLauncher(exception) ? -1 : static_cast<int>(EvidenceOf(ReasonOf(exception)));
    // With equal evidence, a Python exception explains most, then a C++ exception, then a line without a type.
    return std::make_tuple(evidence, !exception.type.empty() && !exception.is_native, !exception.type.empty());
  };
  const Found* best = &found_.back();
  auto best_weight = weight(best->exception);
  for (size_t i = found_.size() - 1; i > 0 && found_.size() - i <= kMaxWeighed; --i) {
    const Found& before = found_[i - 1];
    const size_t most = IsOfLauncher(found_[i].exception) ? kLaunchersLines : kOtherLines;
    if (OthersBetween(before.at, found_[i].at) > most) break;
    if (const auto its_weight = weight(before.exception); its_weight > best_weight) {
      best = &before;
      best_weight = its_weight;
    }
  }
  return best->exception;
}

std::optional<RaisedException> Finder::Find() {
  for (size_t at = 0; at < lines_.size(); ++at) Look(at);
  if (found_.empty() || OthersBetween(found_.back().at, lines_.size()) > kOtherLines) return std::nullopt;
  return Choose();
}

}  // namespace

std::string RaisedException::FirstLine() const {
  const absl::string_view first = absl::string_view(message).substr(0, message.find('\n'));
  if (is_native || type.empty()) return std::string(first);
  return first.empty() ? type : absl::StrCat(type, ": ", first);
}

RaisedException ExceptionOfText(absl::string_view text) {
  const absl::string_view type = TypeOf(text.substr(0, text.find('\n')));
  RaisedException exception;
  if (type.empty()) {
    exception.message = std::string(text);
    return exception;
  }
  exception.type = std::string(type);
  if (text.size() > type.size()) {
    exception.message = std::string(absl::StripLeadingAsciiWhitespace(text.substr(type.size() + 1)));
  }
  return exception;
}

bool IsOfLauncher(const RaisedException& exception) {
  const absl::string_view type = absl::string_view(exception.type);
  const absl::string_view last = type.substr(type.rfind('.') + 1);
  return std::find(kLaunchers.begin(), kLaunchers.end(), last) != kLaunchers.end() ||
         absl::StrContains(exception.message, "Horovod detected that one or more processes exited");
}

bool LooksLikeException(absl::string_view type) {
  const absl::string_view last = type.substr(type.rfind('.') + 1);
  // "Iteration: 1200" and "Warning: no config" are lines of a log.
  const bool is_bare = last.size() == type.size() && last != "Exception" && last != "Error";
  return std::any_of(kEndings.begin(), kEndings.end(), [&](absl::string_view ending) {
    return absl::EndsWith(last, ending) && !(is_bare && last == ending);
  });
}

absl::string_view ReasonOf(const RaisedException& exception) {
  const std::vector<absl::string_view> lines = absl::StrSplit(exception.message, '\n');
  absl::string_view reason = ReasonByText(absl::StrCat(exception.type, ": ", lines[0]), TextPlace::kException);
  if (reason.empty()) reason = ReasonByType(exception.type);
  // The exceptions of MindSpore, CANN, NCCL and XLA have types that say nothing; the cause is in the message's next
  // lines. Python's own exceptions say what they are in the first line, and the lines after it may come from another
  // program.
  const absl::string_view last = absl::string_view(exception.type).substr(exception.type.rfind('.') + 1);
  const bool explains_itself = std::find(kOfPython.begin(), kOfPython.end(), last) != kOfPython.end();
  for (size_t i = 1; i < lines.size() && !explains_itself; ++i) {
    const absl::string_view of_line = ReasonByText(lines[i], TextPlace::kLine);
    const bool says_more = reason.empty() || EvidenceOf(of_line) > EvidenceOf(reason);
    if (!of_line.empty() && says_more) reason = of_line;
  }
  return reason;
}

std::optional<RaisedException> FindException(const std::vector<absl::string_view>& lines) {
  return Finder(lines).Find();
}

void CutException(RaisedException& exception) {
  CutText(exception.type, kMaxShortTextBytes);
  CutText(exception.message, kMaxExceptionBytes);
  if (exception.file.size() > kMaxShortTextBytes) exception.file.clear();
  for (std::string* text : {&exception.type, &exception.file}) {
    std::replace_if(
        text->begin(), text->end(), [](char c) { return absl::ascii_iscntrl(static_cast<unsigned char>(c)); }, '?');
  }
}

}  // namespace muster
