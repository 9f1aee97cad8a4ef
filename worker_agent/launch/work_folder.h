// A private folder for one agent's files: the cluster file and the files of its processes (slot_files.h).
//
// Its path is <base>/muster-<uid>/<job>-<random number>/, its mode 0700. As long as the agent lives it has an advisory
// lock (flock) on the folder. So another agent can see whether the folder's owner is dead, and systemd-tmpfiles, which
// respects the lock, does not delete the files of a long job.
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
  // Returns TMPDIR, else /tmp. The path is absolute: processes get paths below it, and may change their working folder.
  static std::string DefaultBase(const std::map<std::string, std::string>& environment);

  // Makes and locks the folder, and removes the folders that dead agents of this user have left. `incarnation`: the
  // random number in its name, in which '_' replaces odd characters of the job id. It is an error if muster-<uid> is a
  // symbolic link or belongs to another user.
  static absl::StatusOr<std::unique_ptr<WorkFolder>> Create(const std::string& base, const std::string& job_id,
                                                            uint64_t incarnation);

  // Returns <base>/muster-<uid>.
  static std::string UserFolder(const std::string& base);
  // Opens that folder; makes it if it is missing, and takes all permissions from other users. Fails as Create does.
  static absl::StatusOr<UniqueFd> OpenUserFolder(const std::string& base);

  // Removes the folder with all its files, but only in the process that made it (not in a forked child).
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
