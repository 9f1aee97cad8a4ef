// The places of a run's logs, and how long they stay. `base` is --log_dir:
//
//   base/<job>/<run>-<opened>/             worker_<rank>.log, server_<rank>.log, failure.json
//   base/<job>/latest                      -> the folder of the newest run
//   base/worker_<rank>.log, failure.json   -> those of the newest run that has written them
//
// <opened> is the time when the run was opened, in UTC: 20261125T015200.123Z.
//
// Links are relative, and replaced as a whole: several nodes may share the folder. Only links that lead to such a
// place are replaced; a file of the same name (Muster 0.1 wrote such) is put aside as <name>.old.
//
// A folder of a run has a marker, .muster-run, which each keeper holds locked (flock, shared) while it writes there.
// Pruning removes the folders beyond the newest `keep` runs of the job, and of these only folders of this user that
// have the marker and nothing but Muster's files, whose marker no process holds locked, and in which nothing was
// written for an hour: for file systems whose locks don't reach other machines (NFS with nolock or local_lock). A
// folder that can't be read stays. No link is followed. As root it prunes only where no other user can write.
//
// Blocks where the file system does: for the helper (helper_process.h), never for the keeper itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/unique_fd.h"

namespace muster::agent {

struct RunFolder {
  std::string base;    // absolute
  std::string job_id;  // an id: safe as a part of a path
  std::string name;    // see RunFolderName
  uint32_t keep = 0;   // runs of this job; 0: all

  std::string path() const;
};

// "3-20261125T015200.123Z": two runs of a memory journal that begin in one second must not share a folder.
// `opened_unix_ms` may be anything: a time beyond years of four digits counts as 1970.
std::string RunFolderName(uint64_t run, int64_t opened_unix_ms);

// True if Muster gives this name to a link or file of its own in `base`, so that no job's folder can have it: links to
// the runs' files, files put aside for them, links in the making, and the log of a scheduler that an agent starts.
bool IsTakenInBase(std::string_view name);

class RunLogs {
 public:
  static constexpr char kMarker[] = ".muster-run";
  static constexpr int64_t kQuietSeconds = 3600;

  RunLogs() = default;
  // Makes the folder with its marker, links it as the latest, takes away the link to the last run's failure.json, and
  // prunes. Returns a line for the user about what can't be done, or an empty text; logs are written nevertheless.
  std::string Begin(const RunFolder& folder);

  // A file was opened for writing. Links it in base if it is one of this run's. Returns the same as Begin.
  std::string LinkNewest(const std::string& path) const;

 private:
  RunFolder folder_;
  UniqueFd marker_;  // locked
};

}  // namespace muster::agent
