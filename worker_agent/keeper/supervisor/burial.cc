// Collects the parts of the report of a process's death: its last lines, its error file and its device's log. A part
// that does not come within a second is left out.
#include <vector>

#include "absl/strings/str_cat.h"
#include "worker_agent/keeper/boottime.h"
#include "worker_agent/keeper/files/device_log.h"
#include "worker_agent/keeper/supervisor/supervisor.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kFilesPatience = absl::Seconds(1);

}  // namespace

// Begins the report, and requests the files for it. The report waits for the files and for the caller, which must call
// TakeLastAnswer once the last lines are set.
Supervisor::Burial& Supervisor::Bury(const Process& process) {
  const ProcessKey key = process.spec.key;
  const MonotonicTime now = BootTime();
  Burial& burial = burials_[key];
  burial.ended = process.ended;
  burial.has_passed_output = process.spec.passes_output;
  burial.report_at = now + kFilesPatience;
  burial.answers_left = 1;
  ProcessEnd& end = burial.ended.end;
  if (process.output->has_log()) end.log_file = process.spec.log_path;
  if (sinks_.files.IsLate(now)) return burial;  // the helper was late already, so it is not asked
  if (!process.spec.error_file.empty()) {
    ++burial.answers_left;
    sinks_.files.ReadErrorFile(process.spec.error_file,
                               [this, key](const std::string& text) { TakeLastAnswer(key, text); });
  }
  if (end.HasFailedByItself() && !process.spec.device_logs.empty()) {
    ++burial.answers_left;
    sinks_.files.ReadDeviceLog(process.spec.device_logs, process.pid,
                               [this, key](const std::string& text) { TakeDeviceLog(key, text); });
  }
  return burial;
}

void Supervisor::TakeDeviceLog(const ProcessKey& key, const std::string& text) {
  const auto found = burials_.find(key);
  if (found == burials_.end()) return;  // the death was reported without the device log
  if (found->second.has_passed_output && !text.empty()) {
    sinks_.live.error().Write(absl::StrCat("ms-worker: ", text, "\n"), BootTime());
  }
  PutInFront(text, found->second.ended.end.last_lines);
  TakeLastAnswer(key, "");
}

void Supervisor::TakeLastAnswer(const ProcessKey& key, const std::string& error_message) {
  const auto found = burials_.find(key);
  if (found == burials_.end()) return;  // the death was reported without this answer
  if (!error_message.empty()) found->second.ended.end.error_message = error_message;
  if (--found->second.answers_left == 0) report_(burials_.extract(found).mapped().ended);
}

void Supervisor::RunFileDeadlines(MonotonicTime now) {
  std::vector<ProcessKey> due;
  for (const auto& [key, waiting] : waiting_) {
    if (now >= waiting.begin_at) due.push_back(key);
  }
  for (const ProcessKey& key : due) BeginWaiting(key);
  for (auto it = burials_.begin(); it != burials_.end();) {
    const auto burial = it++;
    if (now >= burial->second.report_at) report_(burials_.extract(burial).mapped().ended);
  }
}

}  // namespace muster::agent
