#include "common/sys/log.h"

#include <poll.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/text.h"
#include "common/base/unique_fd.h"
#include "common/sys/live_output.h"
#include "common/sys/private_folder.h"
#include "common/sys/wait.h"

namespace muster {
namespace {

constexpr size_t kMaxKinds = 128;
constexpr char kOtherKinds[] = "other";

class OutputSink;

struct Logging {
  std::shared_ptr<spdlog::logger> logger;
  std::shared_ptr<OutputSink> sink;
  std::string program;
  bool is_json = false;
  bool is_terminal = false;  // the lines go to a terminal, as text
  bool has_colours = false;
};

// Writes the log to stderr, whose reader may be stuck, or to a file.
class OutputSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit OutputSink(UniqueFd file = UniqueFd()) : file_(std::move(file)) {}  // not open: stderr

  // Writes what the destination takes now. Returns the descriptor to wait for if some output is left; otherwise
  // nullopt.
  std::optional<int> Flush() {
    const std::lock_guard<std::mutex> lock(mutex_);
    live_.Flush(Now());
    return live_.has_pending() ? std::optional<int>(live_.watch_fd()) : std::nullopt;
  }

 private:
  static MonotonicTime Now() { return Clock::System().Read().monotonic; }
  void sink_it_(const spdlog::details::log_msg& message) override {
    live_.WriteLines(absl::StrCat(absl::string_view(message.payload.data(), message.payload.size()), "\n"), Now());
    live_.AwaitLine(Now);
  }
  void flush_() override { live_.Flush(Now()); }

  static std::string DropNote(uint64_t bytes);

  const UniqueFd file_;
  LiveOutput live_{file_.is_open() ? file_.get() : STDERR_FILENO, file_.is_open() ? nullptr : SharedLine::OfStderr(),
                   DropNote};
};

std::shared_ptr<spdlog::logger> MakeLogger(spdlog::sink_ptr sink) {
  auto logger = std::make_shared<spdlog::logger>("muster", std::move(sink));
  logger->set_pattern("%v");  // the function Log makes the complete line
  logger->flush_on(spdlog::level::debug);
  return logger;
}

// Lines that are logged before InitLogging go to stderr as text. Set once in main, before other threads exist. Never
// destroyed, so that a line logged late in the process's end is still safe.
Logging& TheLogging() {
  static auto* logging = [] {
    auto sink = std::make_shared<OutputSink>();
    return new Logging{MakeLogger(sink), sink, "muster", false};
  }();
  return *logging;
}

spdlog::level::level_enum ToSpdlog(Severity level) {
  switch (level) {
    case Severity::kDebug:
      return spdlog::level::debug;
    case Severity::kInfo:
      return spdlog::level::info;
    case Severity::kWarning:
      return spdlog::level::warn;
    case Severity::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

const char* NameOf(Severity level) {
  constexpr const char* kNames[] = {"DEBUG", "INFO", "WARNING", "ERROR"};
  return kNames[static_cast<int>(level)];
}

std::string TextLine(const std::string& program, Severity level, absl::Time time, const std::string& text) {
  return absl::StrCat(absl::FormatTime("%Y-%m-%dT%H:%M:%E3S", time, absl::LocalTimeZone()), " ", NameOf(level), " ",
                      program, ": ", EscapeControl(text));
}

// The line for a person at a terminal: the time of day, and the level only if it needs attention. `has_colours`: the
// time is dim, warnings are yellow and errors are red.
std::string TerminalLine(const std::string& program, Severity level, absl::Time time, const std::string& text,
                         bool has_colours) {
  const bool is_loud = level == Severity::kWarning || level == Severity::kError;
  const char* colour = level == Severity::kError ? "\x1b[31m" : "\x1b[33m";
  const std::string head = absl::StrCat(absl::FormatTime("%H:%M:%S", time, absl::LocalTimeZone()), " ", program, ": ");
  const std::string word = is_loud ? absl::StrCat(absl::AsciiStrToLower(NameOf(level)), ": ") : "";
  if (!has_colours) return absl::StrCat(head, word, EscapeControl(text));
  return absl::StrCat("\x1b[2m", head, "\x1b[0m", is_loud ? colour : "", word, is_loud ? "\x1b[0m" : "",
                      EscapeControl(text));
}

std::string JsonLine(const std::string& program, Severity level, absl::Time time, const std::string& text,
                     const LogFields& fields) {
  nlohmann::ordered_json line;
  line["time"] = absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
  line["level"] = NameOf(level);
  line["program"] = program;
  line["message"] = text;
  for (const auto& [name, value] : fields) line.emplace(name, value);  // never replaces one of the members above
  return EscapeJson(line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

std::string LineNow(Severity level, const std::string& text, const LogFields& fields) {
  const Logging& logging = TheLogging();
  const absl::Time time = absl::FromUnixMillis(Clock::System().Read().wall.unix_ms);
  if (logging.is_terminal) return TerminalLine(logging.program, level, time, text, logging.has_colours);
  return logging.is_json ? JsonLine(logging.program, level, time, text, fields)
                         : TextLine(logging.program, level, time, text);
}

std::string OutputSink::DropNote(uint64_t bytes) {
  return absl::StrCat(
      LineNow(Severity::kWarning,
              absl::StrCat(bytes, " bytes of the log were dropped here: they were not read in time"), {}),
      "\n");
}

}  // namespace

bool TakesColours() {
  const char* no_colour = std::getenv("NO_COLOR");  // no-color.org: any value except an empty one
  const char* term = std::getenv("TERM");
  return (no_colour == nullptr || no_colour[0] == '\0') && term != nullptr && absl::string_view(term) != "dumb";
}

absl::Status InitLogging(const LogOptions& options) {
  if (options.format != "text" && options.format != "json") {
    return absl::InvalidArgumentError(absl::StrCat("log_format is ", Quoted(options.format), ", not text or json"));
  }
  spdlog::level::level_enum level = spdlog::level::off;
  if (options.level == "debug") level = spdlog::level::debug;
  if (options.level == "info") level = spdlog::level::info;
  if (options.level == "warning") level = spdlog::level::warn;
  if (options.level == "error") level = spdlog::level::err;
  if (level == spdlog::level::off) {
    return absl::InvalidArgumentError(
        absl::StrCat("log_level is ", Quoted(options.level), ", not debug, info, warning or error"));
  }

  Logging& logging = TheLogging();
  logging.program = options.program;
  auto sink = std::make_shared<OutputSink>();
  if (!options.file.empty()) {
    // The folder is not created: otherwise a typing error would create a tree of folders.
    const std::filesystem::path folder = std::filesystem::path(options.file).parent_path();
    std::error_code ignored;
    if (!folder.empty() && !std::filesystem::is_directory(folder, ignored)) {
      return absl::InvalidArgumentError(absl::StrCat("log_file: the folder of ", Quoted(options.file),
                                                     " is not there: correct --log_file, or make it with mkdir -p ",
                                                     EscapeControl(folder.string())));
    }
    absl::StatusOr<UniqueFd> file = OpenToAppend(options.file);
    if (!file.ok()) {
      return absl::UnavailableError(absl::StrCat("the log file can't be written (", file.status().message(),
                                                 "): correct --log_file or its folder's rights"));
    }
    sink = std::make_shared<OutputSink>(*std::move(file));
  }
  logging.logger = MakeLogger(sink);
  logging.logger->set_level(level);
  logging.sink = std::move(sink);
  logging.is_json = options.format == "json";
  logging.is_terminal = !logging.is_json && options.file.empty() && isatty(STDERR_FILENO) == 1;
  logging.has_colours = logging.is_terminal && TakesColours();
  return absl::OkStatus();
}

void Log(Severity level, const std::string& text, const LogFields& fields) {
  const Logging& logging = TheLogging();
  if (!logging.logger->should_log(ToSpdlog(level))) return;
  logging.logger->log(ToSpdlog(level), spdlog::string_view_t(LineNow(level, text, fields)));
}

void FlushLog(absl::Duration patience) {
  OutputSink* sink = TheLogging().sink.get();
  const MonotonicTime end = Clock::System().Read().monotonic + patience;
  while (const std::optional<int> fd = sink->Flush()) {
    const absl::Duration left = end - Clock::System().Read().monotonic;
    if (left <= absl::ZeroDuration()) return;
    WaitFor(*fd, POLLOUT, std::min(left, absl::Milliseconds(100)));
  }
}

void CountedLog::Note(Severity level, const std::string& kind, const std::string& text, uint64_t times) {
  const MonotonicTime now = clock_.Read().monotonic;
  uint64_t unsaid = 0;
  {
    MutexLock lock(mutex_);
    auto found = kinds_.find(kind);
    if (found == kinds_.end()) {
      found = kinds_.try_emplace(kinds_.size() + 1 < kMaxKinds ? kind : kOtherKinds).first;
    }
    Kind& entry = found->second;
    const bool is_first = entry.total == 0;
    entry.total += times;
    if (!is_first && now - entry.last_logged < window_) {
      entry.unsaid += times;
      entry.level = level;
      entry.last_text = text;
      return;
    }
    unsaid = std::exchange(entry.unsaid, 0);
    entry.last_logged = now;
  }
  Log(level, unsaid == 0 ? text : absl::StrCat(text, " (and ", unsaid, " more like it)"), {{"kind", kind}});
}

void CountedLog::Flush() {
  const MonotonicTime now = clock_.Read().monotonic;
  std::map<std::string, Kind> unsaid;
  {
    MutexLock lock(mutex_);
    for (auto& [kind, entry] : kinds_) {
      if (entry.unsaid == 0) continue;
      unsaid[kind] = entry;
      entry.unsaid = 0;
      entry.last_logged = now;
    }
  }
  for (const auto& [kind, entry] : unsaid) {
    const std::string more = entry.unsaid == 1 ? "" : absl::StrCat(" (and ", entry.unsaid - 1, " more like it)");
    Log(entry.level, absl::StrCat(entry.last_text, more), {{"kind", kind}});
  }
}

std::map<std::string, uint64_t> CountedLog::Counts() const {
  MutexLock lock(mutex_);
  std::map<std::string, uint64_t> counts;
  for (const auto& [kind, entry] : kinds_) counts[kind] = entry.total;
  return counts;
}

}  // namespace muster
