// Reads MS_PROGRESS_FILE, in which the running processes write a step number, or which they only touch.
//
// The agent's loop polls and owns it. Never blocks on anything that a process may have put there (a pipe, a folder, a
// link, a huge file): all but a regular file counts as none, and at most 64 bytes are read.
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

  // Watches the process until Forget; see slot_files.h for its file.
  void Watch(const ProcessKey& process);
  void Forget(const ProcessKey& process);
  void ForgetAll() { watched_.clear(); }
  bool IsIdle() const { return watched_.empty(); }

  // Returns the changes since the last call.
  std::vector<ProgressMade> Poll();

 private:
  struct Seen {
    bool has_file = false;
    int64_t modified_ns = 0;
    std::optional<uint64_t> step;
  };

  // Returns true when it is progress.
  static bool Look(const std::string& path, Seen& seen);

  const std::string work_folder_;
  std::map<ProcessKey, Seen> watched_;
};

}  // namespace muster::agent
