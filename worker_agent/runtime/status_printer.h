// Shows the core's messages: lines go to the log; progress is rewritten in place on a terminal and logged at growing
// intervals elsewhere, so that a log stays short even if a job waits long. `systemctl status` shows the latest message
// that is neither a warning nor an error.
#pragma once

#include <cstdio>
#include <string>
#include <utility>

#include "common/base/clock.h"
#include "common/net/service_manager.h"
#include "worker_agent/core/events.h"

namespace muster::agent {

class StatusPrinter {
 public:
  // Writes progress to the terminal; null: logs it.
  explicit StatusPrinter(std::FILE* terminal, ServiceManager manager = {})
      : terminal_(terminal), manager_(std::move(manager)) {}
  ~StatusPrinter() { ClearProgress(); }
  StatusPrinter(const StatusPrinter&) = delete;
  StatusPrinter& operator=(const StatusPrinter&) = delete;

  void Print(const Say& say, MonotonicTime now);
  // Must be called before anything else is written to the terminal.
  void ClearProgress();

  // Returns stderr if it is a terminal that can rewrite a line, else null.
  static std::FILE* FindTerminal();

 private:
  void PrintProgress(const std::string& text, MonotonicTime now);

  std::FILE* const terminal_;
  const ServiceManager manager_;
  bool is_progress_shown_ = false;
  bool has_progress_ = false;  // there was progress since the last ordinary line
  size_t times_logged_ = 0;
  MonotonicTime log_at_;
};

}  // namespace muster::agent
