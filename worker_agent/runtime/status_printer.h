// Says the core's sentences: lines go to the log; progress is rewritten in place on a terminal and logged at growing
// intervals elsewhere, so that a log stays short however long a job waits. The latest one that is no complaint is what
// `systemctl status` shows, too.
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
  // With a terminal, progress is written to it; null: logged.
  explicit StatusPrinter(std::FILE* terminal, ServiceManager manager = {})
      : terminal_(terminal), manager_(std::move(manager)) {}
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
  const ServiceManager manager_;
  bool is_progress_shown_ = false;
  bool has_progress_ = false;  // since the last ordinary line
  size_t times_logged_ = 0;
  MonotonicTime log_at_;
};

}  // namespace muster::agent
