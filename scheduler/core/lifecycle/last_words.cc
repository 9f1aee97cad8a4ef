// Where the line that is told comes from, the first that there is:
//
//   the error file's message                         its first line
//   Python's last traceback, chained or not, under   the line after its frames, "KeyError: 'lr'"; one that Python
//   a rank's prefix or not, its head lost or not     itself ignored ("Exception ignored in") does not count
//   C++: terminate called …                          its what()
//   none of them                                     the last line that kTexts knows
//
// and the reason, the first that is known: of the exception's own text (its message may have several lines) the first
// row of kTexts that is in it, then its type by kTypes, then python_exception. Where there is no exception, the last
// of the newest lines that a row of kTexts is in: what was said long before may have been overcome.
#include "scheduler/core/lifecycle/last_words.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/reason.h"
#include "common/base/text.h"

namespace muster::scheduler {
namespace {

struct Row {
  absl::string_view text;  // in lower case
  absl::string_view reason;
};

// The more special one comes first.
constexpr std::array kTexts = std::to_array<Row>({
    {"unable to write to file </torch_", reason::kSharedMemoryFull},  // PyTorch's shared tensors
    {"unable to allocate shared memory", reason::kSharedMemoryFull},
    {"out of shared memory", reason::kSharedMemoryFull},
    {"insufficient shared memory", reason::kSharedMemoryFull},
    {"no space left on device", reason::kDiskFull},
    {"disk quota exceeded", reason::kDiskFull},
    {"cuda out of memory", reason::kDeviceOutOfMemory},
    {"cuda error: out of memory", reason::kDeviceOutOfMemory},
    {"cublas_status_alloc_failed", reason::kDeviceOutOfMemory},
    {"hip out of memory", reason::kDeviceOutOfMemory},
    {"npu out of memory", reason::kDeviceOutOfMemory},
    {"(el0004)", reason::kDeviceOutOfMemory},  // Ascend
    {"memory isn't enough and alloc failed", reason::kDeviceOutOfMemory},
    {"is more than total mem size", reason::kDeviceOutOfMemory},  // MindSpore's allocator
    {"out of memory. memory malloc failed", reason::kOutOfMemory},
    {"cannot allocate memory", reason::kOutOfMemory},
    {"can't allocate memory", reason::kOutOfMemory},
    {"std::bad_alloc", reason::kOutOfMemory},
    {"address already in use", reason::kPortInUse},
    {"eaddrinuse", reason::kPortInUse},
    {"too many open files", reason::kTooManyOpenFiles},
    {"no module named ", reason::kMissingModule},
    {"cannot open shared object file", reason::kMissingLibrary},
    {"can't open file '", reason::kMissingFile},  // Python without its script
    {"watchdog caught collective operation timeout", reason::kCollectiveTimeout},
    {"some nccl operations have failed or timed out", reason::kCollectiveTimeout},
    {"failed to pass monitoredbarrier", reason::kCollectiveTimeout},
    {"ms for recv operation to complete", reason::kCollectiveTimeout},  // gloo: "Timed out waiting 30000ms for …"
    {"ms for send operation to complete", reason::kCollectiveTimeout},
    {"wait timeout after ", reason::kCollectiveTimeout},  // c10d's store
    {"waiting for clients. ", reason::kCollectiveTimeout},
    {"error: socket timeout", reason::kCollectiveTimeout},
    {"(ei0002)", reason::kCollectiveTimeout},  // HCCL: a notify was waited for in vain
    {"(ei0006)", reason::kCollectiveTimeout},  // HCCL: a socket was
    {"ei0002:", reason::kCollectiveTimeout},
    {"ei0006:", reason::kCollectiveTimeout},
    {"connection closed by peer", reason::kPeerConnectionLost},                           // gloo
    {"remote process exited or there was a network error", reason::kPeerConnectionLost},  // NCCL
    {"ncclremoteerror", reason::kPeerConnectionLost},
    {"store->get(", reason::kPeerConnectionLost},
    {"the client socket has timed out", reason::kPeerConnectionLost},  // to rank 0's store
    {"/gloo/transport/", reason::kPeerConnectionLost},
    {": no such file or directory", reason::kMissingFile},
});

constexpr std::array kTypes = std::to_array<Row>({
    {"ModuleNotFoundError", reason::kMissingModule},
    {"ImportError", reason::kMissingModule},
    {"FileNotFoundError", reason::kMissingFile},
    {"PermissionError", reason::kPermissionDenied},
    {"MemoryError", reason::kOutOfMemory},
    {"OutOfMemoryError", reason::kDeviceOutOfMemory},
});

// Of a child of its own: multiprocessing, PyTorch's data loaders, concurrent.futures, subprocess, shells.
constexpr std::array<absl::string_view, 5> kKilledChild = {"is killed by signal: killed", "exited unexpectedly",
                                                           "was terminated abruptly", "<signals.sigkill: 9>",
                                                           "exit code -9"};

constexpr size_t kNewestLines = 8;

// What Python or C++ raised.
struct Exception {
  std::string line;  // "KeyError: 'lr'"
  std::string text;  // with the kNewestLines that came after it
};

Exception ExceptionAt(const std::vector<absl::string_view>& lines, size_t at, absl::string_view line) {
  Exception exception{std::string(line), std::string(lines[at])};
  for (size_t i = at + 1; i < lines.size() && i <= at + kNewestLines; ++i) {
    absl::StrAppend(&exception.text, "\n", lines[i]);
  }
  return exception;
}

std::string Quote(absl::string_view line) {
  std::string quote(absl::StripAsciiWhitespace(line));
  CutText(quote, kMaxQuoteBytes);
  return quote;
}

bool IsIdentifier(absl::string_view name) {
  if (name.empty() || absl::ascii_isdigit(static_cast<unsigned char>(name[0]))) return false;
  for (const char c : name) {
    const bool is_letter = absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
    if (!is_letter && (static_cast<unsigned char>(c) & 0x80) == 0) return false;
  }
  return true;
}

// "json.decoder.JSONDecodeError" of "json.decoder.JSONDecodeError: Expecting value"; empty: no exception's line.
absl::string_view TypeOf(absl::string_view line) {
  const absl::string_view type = line.substr(0, line.find(':'));
  if (type.size() < line.size() && type.size() + 1 < line.size() && line[type.size() + 1] != ' ') return "";
  return IsIdentifier(type) ? type : "";
}

absl::string_view LastPart(absl::string_view type) { return type.substr(type.rfind('.') + 1); }

bool LooksLikeException(absl::string_view type) {
  const absl::string_view last = LastPart(type);
  for (const absl::string_view ending : {"Error", "Exception", "Interrupt", "Exit", "Iteration", "Expired", "Group"}) {
    if (absl::EndsWith(last, ending)) return true;
  }
  return false;
}

// Where a frame's line begins, `  File "train.py", line 3`: what stands before is a prefix that each line has.
size_t FindFrame(absl::string_view line) {
  const size_t at = line.find("  File \"");
  return at != absl::string_view::npos && absl::StrContains(line.substr(at), "\", line ") ? at
                                                                                          : absl::string_view::npos;
}

std::optional<Exception> FindException(const std::vector<absl::string_view>& lines) {
  std::optional<Exception> found;
  bool is_ignored = false, is_in_frames = false, has_other_lines = false;
  absl::string_view prefix;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (absl::StrContains(lines[i], "Exception ignored in")) is_ignored = true;
    if (const size_t frame = FindFrame(lines[i]); frame != absl::string_view::npos) {
      is_in_frames = true;
      has_other_lines = false;
      prefix = lines[i].substr(0, frame);
      continue;
    }
    absl::string_view line = lines[i];
    if (!is_in_frames || !absl::ConsumePrefix(&line, prefix) || line.empty() || line[0] == ' ') continue;
    const absl::string_view type = TypeOf(absl::StripAsciiWhitespace(line));
    if (type.empty() || (has_other_lines && !LooksLikeException(type))) {
      has_other_lines = true;  // of another thread
      continue;
    }
    is_in_frames = false;
    if (std::exchange(is_ignored, false)) continue;
    found = ExceptionAt(lines, i, absl::StripSuffix(absl::StripAsciiWhitespace(line), ":"));
  }
  return found;
}

// "terminate called after throwing an instance of 'std::bad_alloc'", and on the next line "  what():  std::bad_alloc".
std::optional<Exception> FindTerminate(const std::vector<absl::string_view>& lines) {
  std::optional<Exception> found;
  for (size_t i = 0; i < lines.size(); ++i) {
    const size_t at = lines[i].find("terminate called after throwing an instance of '");
    if (at == absl::string_view::npos) continue;
    const size_t what = i + 1 < lines.size() ? lines[i + 1].find("what():") : absl::string_view::npos;
    found =
        ExceptionAt(lines, i, what == absl::string_view::npos ? lines[i].substr(at) : lines[i + 1].substr(what + 7));
  }
  return found;
}

absl::string_view ReasonByText(absl::string_view text) {
  const std::string lower = absl::AsciiStrToLower(text);
  for (const Row& row : kTexts) {
    if (absl::StrContains(lower, row.text)) return row.reason;
  }
  return "";
}

bool TellsOfAKilled(absl::string_view text) {
  const std::string lower = absl::AsciiStrToLower(text);
  for (const absl::string_view killed : kKilledChild) {
    if (absl::StrContains(lower, killed)) return true;
  }
  return false;
}

absl::string_view ReasonOf(const Exception& exception) {
  if (const absl::string_view reason = ReasonByText(exception.text); !reason.empty()) return reason;
  const absl::string_view type = TypeOf(exception.line);
  for (const Row& row : kTypes) {
    if (LastPart(type) == row.text) return row.reason;
  }
  return "";
}

}  // namespace

LastWords ReadLastWords(const v1::ProcessEnded& ended) {
  const std::vector<absl::string_view> lines(ended.last_lines().begin(), ended.last_lines().end());
  LastWords words;
  for (const absl::string_view line : lines) words.tells_of_a_killed |= TellsOfAKilled(line);
  words.tells_of_a_killed |= TellsOfAKilled(ended.error_message());

  std::optional<Exception> python;
  if (!ended.error_message().empty()) {
    python = Exception{ended.error_message().substr(0, ended.error_message().find('\n')), ended.error_message()};
  } else {
    python = FindException(lines);
  }
  const std::optional<Exception> exception = python ? python : FindTerminate(lines);
  if (exception) {
    words.quote = Quote(exception->line);
    words.reason = ReasonOf(*exception);
    // Who is no Python may write an error file, too.
    const bool is_python = python && (ended.error_message().empty() || LooksLikeException(TypeOf(words.quote)));
    if (words.reason.empty() && is_python) words.reason = reason::kPythonException;
    return words;
  }
  for (size_t back = 1; back <= std::min(lines.size(), kNewestLines) && words.reason.empty(); ++back) {
    const absl::string_view line = lines[lines.size() - back];
    words.reason = ReasonByText(line);
    if (!words.reason.empty()) words.quote = Quote(line);
  }
  return words;
}

}  // namespace muster::scheduler
