// A private folder for one agent's files: the cluster file and the files of its processes (slot_files.h).
//
// <base>/muster-<uid>/<job>-<incarnation>/, mode 0700, with an advisory lock (flock) on the folder itself for as long
// as the agent lives: it shows whether a folder's owner is dead, and keeps systemd-tmpfiles, which honours it, from
// clearing away the files of a long job.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/unique_fd.h"

namespace muster::agent {

class WorkFolder {
 public:
  // Returns TMPDIR, else /tmp. Absolute, since processes get paths below it and may change their folder.
  static std::string DefaultBase(const std::map<std::string, std::string>& environment);

  // Makes and locks the folder, and removes those of dead agents of this user beside it. Refused when muster-<uid> is a
  // symbolic link or another user's. Odd characters of the job id become '_' in the name.
  static absl::StatusOr<std::unique_ptr<WorkFolder>> Create(const std::string& base, const std::string& job_id,
                                                            uint64_t incarnation);

  // <base>/muster-<uid>, made if need be and closed to others; the same refusals.
  static std::string UserFolder(const std::string& base);
  static absl::StatusOr<UniqueFd> OpenUserFolder(const std::string& base);

  // Removes it with all that is in it; only in the process that made it.
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  WorkFolder(std::string path, int lock_fd);

  const std::string path_;
  const int lock_fd_;
  const pid_t owner_;
};

}  // namespace muster::agent
