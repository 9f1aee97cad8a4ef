// Reads MS_PROGRESS_FILE, in which the running processes write a step number, or which they only touch.
//
// The agent's loop polls and owns it. Never blocks on anything that a process may have put in the file's place (a pipe,
// a folder, a link, a huge file): only a regular file counts as a file, and at most 64 bytes are read.
//
// Progress is the first number in the file, and each change of the number (its leading decimal digits). A lower number
// counts, too, because an epoch may begin at 0. Until there was a number, each change of the file's modification time
// counts as progress. After that only numbers count: neither a file that is just being written (empty for a moment) nor
// one that a heartbeat thread keeps touching must look like a step.
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
