// Says the core's sentences: lines go to the log; progress is rewritten in place on a terminal and logged at growing
// intervals elsewhere, so that a log stays short however long a job waits.
#pragma once

#include <cstdio>
#include <string>

#include "common/base/clock.h"
#include "worker_agent/core/events.h"

namespace muster::agent {

class StatusPrinter {
 public:
  // With a terminal, progress is written to it; null: logged.
  explicit StatusPrinter(std::FILE* terminal) : terminal_(terminal) {}
  ~StatusPrinter() { ClearProgress(); }
  StatusPrinter(const StatusPrinter&) = delete;
  StatusPrinter& operator=(const StatusPrinter&) = delete;

  void Tell(const Say& say, MonotonicTime now);
  // Before anything else is written to the terminal.
  void ClearProgress();

  // stderr if it is a terminal that can rewrite a line, else null.
  static std::FILE* FindTerminal();

 private:
  void TellProgress(const std::string& text, MonotonicTime now);

  std::FILE* const terminal_;
  bool is_progress_shown_ = false;
  bool has_progress_ = false;  // since the last ordinary line
  size_t times_logged_ = 0;
  MonotonicTime log_at_;
};

}  // namespace muster::agent
