// Reads what the running processes write to MS_PROGRESS_FILE: a step number, or nothing but a touch.
//
// Polled by the agent's loop, which owns it. Never blocks on what a process may have put there (a pipe, a folder, a
// link, a huge file): all but a regular file is as if nothing were there, and at most 64 bytes are read.
//
// What counts as progress: the first number and each other number (the leading decimal digits; a lower one too, an
// epoch may begin at 0). As long as there was no number, each change of the file's time of modification. After a number
// only numbers count, so that neither a file that is just being written (empty for a moment) nor one that a heartbeat
// thread keeps touching looks like a step.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "worker_agent/core/events.h"

namespace muster::agent {

class ProgressReader {
 public:
  explicit ProgressReader(std::string work_folder) : work_folder_(std::move(work_folder)) {}

  // From its start to its end; see slot_files.h for where it writes.
  void Watch(const ProcessKey& process);
  void Forget(const ProcessKey& process);
  void ForgetAll() { watched_.clear(); }
  bool IsIdle() const { return watched_.empty(); }

  // What has changed since the last time.
  std::vector<ProgressMade> Poll();

 private:
  struct Seen {
    bool has_file = false;
    int64_t modified_ns = 0;
    std::optional<uint64_t> step;
  };

  // True when it is progress.
  static bool Look(const std::string& path, Seen& seen);

  const std::string work_folder_;
  std::map<ProcessKey, Seen> watched_;
};

}  // namespace muster::agent
