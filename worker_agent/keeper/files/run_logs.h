// The places of a run's logs, and the rules for their removal. `base` is --log_dir:
//
//   base/<job>/<run>-<opened>/             worker_<rank>.log, server_<rank>.log, failure.json
//   base/<job>/latest                      -> the folder of the newest run
//   base/worker_<rank>.log, failure.json   -> the file of the newest run that has written it
//
// <opened> is the time when the run was opened, in UTC: 20261125T015200.123Z.
//
// Several nodes may share the folder, so links are relative, and each is replaced in one step. Only links that lead to
// one of these places are replaced. A regular file in a link's place (from Muster 0.1, which made no links) is renamed
// to <name>.old.
//
// The folder of a run contains a marker, .muster-run. Each keeper holds it locked (flock, shared) while it writes in
// the folder.
//
// Pruning removes the folders of the job's runs beyond the newest `keep`. It removes a folder only if all of this is
// true: it belongs to this user; it has the marker, and no process has locked the marker; it contains only Muster's
// files; nothing was written in it for an hour. The hour is for file systems whose locks don't reach other machines
// (NFS with nolock or local_lock). Pruning keeps a folder that it can't read, and follows no link. As root it works
// only where no other user can write.
//
// Blocks if the file system hangs, so only a helper may use it (helper_process.h), never the keeper itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/unique_fd.h"

namespace muster::agent {

struct RunFolder {
  std::string base;    // absolute
  std::string job_id;  // an id, so it is safe as a part of a path
  std::string name;    // see RunFolderName
  uint32_t keep = 0;   // how many runs of this job are kept; 0: all

  std::string path() const;
};

// Returns a name like "3-20261125T015200.123Z". It contains milliseconds, since two runs of a memory journal may begin
// in one second and must not share a folder. `opened_unix_ms` may be any number: a time after the year 9999 counts as
// 1970.
std::string RunFolderName(uint64_t run, int64_t opened_unix_ms);

// Returns true if Muster gives this name to a link or file of its own in `base`, so that no job may have it. These are
// the links to a run's files, files that were renamed to make room for a link, links that are being made, and the log
// of a scheduler that an agent starts.
bool IsTakenInBase(std::string_view name);

class RunLogs {
 public:
  static constexpr char kMarker[] = ".muster-run";
  static constexpr int64_t kQuietSeconds = 3600;

  RunLogs() = default;
  // Makes the run's folder with its marker, links it as `latest`, removes the link to an earlier run's failure.json,
  // and prunes. Returns a line for the user about a step that failed, or an empty text; the logs are written even then.
  std::string Begin(const RunFolder& folder);

  // Called after `path` was opened for writing. Makes the link in `base` if `path` is a file of this run. Returns a
  // line for the user if that failed, or an empty text.
  std::string LinkNewest(const std::string& path) const;

 private:
  RunFolder folder_;
  UniqueFd marker_;  // open and locked while this lives
};

}  // namespace muster::agent
