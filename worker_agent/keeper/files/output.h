// The output of one process: its pipes, and where their bytes go (live output, log file, last lines).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/unique_fd.h"
#include "common/causes/exceptions.h"
#include "common/sys/live_output.h"
#include "worker_agent/keeper/callback_poller.h"
#include "worker_agent/keeper/files/file_helper.h"
#include "worker_agent/keeper/files/output_tail.h"
#include "worker_agent/keeper/processes.h"
#include "worker_agent/keeper/text.h"

namespace muster::agent {

// The last lines that a process wrote, from both of its streams, as they came.
class LastLines {
 public:
  LastLines();

  void Feed(size_t stream, std::string_view bytes);  // stream: 0 or 1

  // At most kMaxLastLines of at most kMaxLastLineBytes, clean text; a last line without an end counts. Call it once.
  std::vector<std::string> Take();
  // Returns the last lines so far; may be called any number of times.
  std::vector<std::string> SoFar() const { return LastLines(*this).Take(); }

 private:
  void Keep(std::string&& line);

  std::array<LineSplitter, 2> splitters_;
  std::deque<std::string> lines_;
};

// The agent's stdout and stderr. One and the same object when both are the same file, so that order is kept.
class LiveOutputs {
 public:
  LiveOutputs(int stdout_fd, int stderr_fd);

  LiveOutput& standard() { return standard_; }
  LiveOutput& error() { return error_.has_value() ? *error_ : standard_; }
  bool are_one() const { return !error_.has_value(); }

  void Flush(MonotonicTime now);
  bool has_pending() const { return standard_.has_pending() || (error_.has_value() && error_->has_pending()); }
  // The time when a stuck reader is given up, if anything waits for that, or for the end of a line; else never.
  MonotonicTime NextDeadline(MonotonicTime now) const;
  // Flushes what has waited for a line, and watches for writing what has something pending.
  void UpdateWatches(CallbackPoller& poller);

 private:
  LiveOutput standard_;
  std::optional<LiveOutput> error_;
};

class ProcessOutput {
 public:
  struct ChildEnds {
    UniqueFd out;
    UniqueFd err;  // not open: the same as `out`
  };

  // A log that is open with its helper, which outlives this; 0: none.
  struct Log {
    FileHelper& helper;
    uint32_t number = 0;
  };

  // Makes the pipes (one for both streams where order matters and nothing is lost by it). Error: too many open files.
  // `poller` and `live` outlive this. The log is closed by Finish.
  static absl::StatusOr<std::unique_ptr<ProcessOutput>> Create(const ProcessSpec& spec, LiveOutputs& live,
                                                               CallbackPoller& poller, Log log, ChildEnds& child_ends);
  ~ProcessOutput();
  ProcessOutput(const ProcessOutput&) = delete;
  ProcessOutput& operator=(const ProcessOutput&) = delete;

  bool has_log() const { return log_.number != 0; }
  const OutputTail& tail() const { return tail_; }

  // Goes on reading where it was paused, if the destination takes bytes again or is given up as stuck. Shows the state
  // of a progress bar, when that is due.
  void Resume(MonotonicTime now);
  // When that is due; never: no bar moves.
  MonotonicTime NextDeadline() const { return progress_at_; }

  // Takes the bytes that are in the pipes now. Doesn't wait for their end: a grandchild may hold them open.
  void Drain();
  // Drains, and returns the last lines so far.
  std::vector<std::string> LastLinesSoFar();
  // Returns the exception in the part of the output that is still kept; empty: none.
  RaisedException FindException() const;
  // Drains, closes the pipes, passes on a last unfinished line, and returns the last lines; if there is a log,
  // `log_is_written` is called when that is so. Call it once.
  std::vector<std::string> Finish(std::function<void()> log_is_written);

 private:
  struct Stream {
    UniqueFd pipe;
    LiveOutput* destination = nullptr;  // null: not shown live
    bool is_paused = false;
  };

  ProcessOutput(const ProcessSpec& spec, LiveOutputs& live, CallbackPoller& poller, Log log);
  bool ShouldPause(const Stream& stream, MonotonicTime now) const;
  void Watch(size_t stream);
  void Close(size_t stream);
  // Takes at most about `max_bytes` of what is there now.
  void Read(size_t stream, size_t max_bytes);
  void Take(size_t stream, std::string_view bytes);
  void ShowWithPrefix(std::string_view bytes);
  void ShowProgress(MonotonicTime now);

  LiveOutputs& live_;
  CallbackPoller& poller_;
  const std::string prefix_;
  const Log log_;
  std::array<Stream, 2> streams_;
  LineSplitter prefix_splitter_;
  std::string shown_progress_;  // of the line that has not ended
  MonotonicTime progress_at_ = MonotonicTime::Never();
  MonotonicTime next_progress_;  // not before
  LastLines last_lines_;
  OutputTail tail_;
};

}  // namespace muster::agent
