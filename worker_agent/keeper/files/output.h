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
#include "worker_agent/output_rules/rule_matcher.h"

namespace muster::agent {

// The last lines that a process wrote, from both of its streams, in the order in which they came.
class LastLines {
 public:
  LastLines();

  void Feed(size_t stream, std::string_view bytes);  // stream: 0 or 1

  // Returns at most kMaxLastLines lines of clean text, each of at most kMaxLastLineBytes. A last line without an end
  // counts. Must be called once only.
  std::vector<std::string> Take();
  // Returns the last lines so far; may be called any number of times.
  std::vector<std::string> SoFar() const { return LastLines(*this).Take(); }

 private:
  void Keep(std::string&& line);

  std::array<LineSplitter, 2> splitters_;
  std::deque<std::string> lines_;
};

// The agent's stdout and stderr. If both are the same file, standard() and error() return one object, so that the order
// of the output is kept.
class LiveOutputs {
 public:
  LiveOutputs(int stdout_fd, int stderr_fd);

  LiveOutput& standard() { return standard_; }
  LiveOutput& error() { return error_.has_value() ? *error_ : standard_; }
  bool are_one() const { return !error_.has_value(); }

  void Flush(MonotonicTime now);
  bool has_pending() const { return standard_.has_pending() || (error_.has_value() && error_->has_pending()); }
  // Returns when Flush is needed next: to give up a reader that takes nothing, or to pass on a line that has no end.
  // Never(): nothing waits for that.
  MonotonicTime NextDeadline(MonotonicTime now) const;
  // Passes on lines that have waited long enough for their end, and watches the outputs that have bytes pending.
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

  // A log that the helper has open. The helper outlives this. `number` 0: there is no log.
  struct Log {
    FileHelper& helper;
    uint32_t number = 0;
  };

  // Makes the pipes. Both streams share one pipe, which keeps their order, except where stdout and stderr go to
  // different places. Error: too many open files. `poller` and `live` outlive this. Finish closes the log.
  // `matcher` gets all output; null: there are no rules.
  static absl::StatusOr<std::unique_ptr<ProcessOutput>> Create(const ProcessSpec& spec, LiveOutputs& live,
                                                               CallbackPoller& poller, Log log,
                                                               std::unique_ptr<RuleMatcher> matcher,
                                                               ChildEnds& child_ends);
  ~ProcessOutput();
  ProcessOutput(const ProcessOutput&) = delete;
  ProcessOutput& operator=(const ProcessOutput&) = delete;

  bool has_log() const { return log_.number != 0; }
  const OutputTail& tail() const { return tail_; }
  RuleMatcher* matcher() { return matcher_.get(); }  // null: no rules
  const RuleMatcher* matcher() const { return matcher_.get(); }

  // Reads again from each stream that was paused, if its destination takes bytes again or was given up. Shows the state
  // of a progress bar when that is due.
  void Resume(MonotonicTime now);
  // Returns when the state of a progress bar is due; Never(): no bar has moved.
  MonotonicTime NextDeadline() const { return progress_at_; }

  // Reads the bytes that are in the pipes now. Doesn't wait for the pipes to be closed, because a grandchild may keep
  // them open.
  void Drain();
  // Drains, and returns the last lines so far.
  std::vector<std::string> LastLinesSoFar();
  // Returns the exception in the part of the output that is still kept; empty: none.
  RaisedException FindException() const;
  // Drains and closes the pipes, passes on a last unfinished line, and returns the last lines. If there is a log,
  // `log_is_written` is called when all of it is written. Must be called once only.
  std::vector<std::string> Finish(std::function<void()> log_is_written);

 private:
  struct Stream {
    UniqueFd pipe;
    LiveOutput* destination = nullptr;  // null: not shown live
    bool is_paused = false;
  };

  ProcessOutput(const ProcessSpec& spec, LiveOutputs& live, CallbackPoller& poller, Log log,
                std::unique_ptr<RuleMatcher> matcher);
  bool ShouldPause(const Stream& stream, MonotonicTime now) const;
  void Watch(size_t stream);
  void Close(size_t stream);
  // Reads the bytes that are there now, at most about `max_bytes`.
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
  std::string shown_progress_;  // the last shown state of the line that has not ended
  MonotonicTime progress_at_ = MonotonicTime::Never();
  MonotonicTime next_progress_;  // no state is shown before this time
  LastLines last_lines_;
  OutputTail tail_;
  const std::unique_ptr<RuleMatcher> matcher_;
};

}  // namespace muster::agent
