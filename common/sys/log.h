// Logging through spdlog: text for people, or one JSON object on each line for machines.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/severity.h"

namespace muster {

struct LogOptions {
  std::string program;  // "ms-scheduler"
  // text: "2026-11-20T23:04:30.123 INFO ms-scheduler: …", on a terminal "23:04:30 …"; or json
  std::string format = "text";
  std::string level = "info";
  std::string file;  // empty: stderr
};

// True if the user's environment allows colours on a terminal (TERM, NO_COLOR).
bool TakesColours();

// Must be called once, in main. Fails if the file can't be opened.
absl::Status InitLogging(const LogOptions& options);

// Additional members of a JSON line. A line of text does not show them; its text must say everything.
using LogFields = std::vector<std::pair<std::string, std::string>>;

// May be called by any thread. Escapes control characters in `text`, so that a peer's words can't forge lines. A stuck
// reader of stderr does not block the caller: see LiveOutput.
void Log(Severity level, const std::string& text, const LogFields& fields = {});

// Writes the bytes that stderr has not taken yet, and waits for at most `patience` until it has taken them. Call it
// regularly, and at the end.
void FlushLog(absl::Duration patience = absl::ZeroDuration());

// Counts and logs events that a hostile or broken peer can cause at will. Logs the first event of a kind at once, and
// after that at most one line in each window, with the number of events. Thread-safe. Distinguishes at most 128 kinds.
class CountedLog {
 public:
  explicit CountedLog(const Clock& clock, absl::Duration window = absl::Seconds(10)) : clock_(clock), window_(window) {}
  // `times`: how often it happened.
  void Note(Severity level, const std::string& kind, const std::string& text, uint64_t times = 1);
  // Logs the counts that no line has shown yet ("… and 381 more like it"). Call it regularly, and at the end.
  void Flush();
  // Returns how often each kind was noted since the start.
  std::map<std::string, uint64_t> Counts() const;

 private:
  struct Kind {
    uint64_t total = 0;
    uint64_t unsaid = 0;
    Severity level = Severity::kWarning;
    std::string last_text;
    MonotonicTime last_logged;
  };
  const Clock& clock_;
  const absl::Duration window_;
  mutable Mutex mutex_;
  std::map<std::string, Kind> kinds_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster
