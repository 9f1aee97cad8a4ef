// What is told with the end of a process: its last lines, its error file and its device's log, or what of them has come
// within a second.
#include <utility>

#include "absl/strings/str_cat.h"
#include "worker_agent/keeper/boottime.h"
#include "worker_agent/keeper/files/device_log.h"
#include "worker_agent/keeper/supervisor/supervisor.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kFilesPatience = absl::Seconds(1);

}  // namespace

void Supervisor::TellEnd(Ended ended, const ProcessFiles& files, std::unique_ptr<ProcessOutput> output) {
  const ProcessKey key = ended.key;
  const MonotonicTime now = BootTime();
  // A helper that is late already has hardly got better.
  const bool waits_for_log = !sinks_.logs.IsLate(now);
  const bool waits_for_files = !sinks_.files.IsLate(now);
  Burial& burial = burials_[key];
  burial.ended = std::move(ended);
  burial.has_passed_output = files.has_passed_output;
  burial.tell_at = now + kFilesPatience;
  burial.answers_left = 1;  // our own, at the end of this
  if (output->has_log() && waits_for_log) ++burial.answers_left;
  burial.ended.end.last_lines = output->Finish([this, key, waits_for_log] {
    if (waits_for_log) TakeLastAnswer(key, "");
  });
  remains_[key.slot] = {key, static_cast<pid_t>(files.pid), burial.ended.end.log_file, output->tail()};
  if (waits_for_files && !files.error_file.empty()) {
    ++burial.answers_left;
    sinks_.files.ReadErrorFile(files.error_file, [this, key](const std::string& text) { TakeLastAnswer(key, text); });
  }
  if (waits_for_files && !files.device_logs.empty()) {
    ++burial.answers_left;
    sinks_.files.ReadDeviceLog(files.device_logs, files.pid,
                               [this, key](const std::string& text) { TakeDeviceLog(key, text); });
  }
  TakeLastAnswer(key, "");
}

void Supervisor::TakeDeviceLog(const ProcessKey& key, const std::string& text) {
  const auto found = burials_.find(key);
  if (found == burials_.end()) return;  // told without it
  if (found->second.has_passed_output && !text.empty()) {
    sinks_.live.error().Write(absl::StrCat("ms-worker: ", text, "\n"), BootTime());
  }
  PutInFront(text, found->second.ended.end.last_lines);
  TakeLastAnswer(key, "");
}

void Supervisor::TakeLastAnswer(const ProcessKey& key, const std::string& error_message) {
  const auto found = burials_.find(key);
  if (found == burials_.end()) return;  // told without it
  if (!error_message.empty()) found->second.ended.end.error_message = error_message;
  if (--found->second.answers_left == 0) tell_(burials_.extract(found).mapped().ended);
}

}  // namespace muster::agent
