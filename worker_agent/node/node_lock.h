// One start of a node at a time on one machine, and the id that the scheduler gave it.
//
// <folder>/nodes/<machine>/<job>@<scheduler>/<name>: an advisory lock (flock) that the agent takes before it forks the
// keeper, and that both hold for as long as they live. So its owner knows that the former start and its keeper have
// ended, and all that they had started with them. Processes that are left where both were killed are ended first: see
// orphans.h. The name is "id-<node id>" where the user has set one. Else it is a number, the lowest free one, and the
// file keeps the id that the scheduler assigned: the same line started again is the same node. The folder may lie on a
// network file system that all nodes share, and pods of one image may have one <machine>: a record of a start that ran
// elsewhere is not taken for this node's (lock_record.h).
//
// The file decides what a start kills and guarantees. So the folder must be this user's, and no one else may be able to
// change it or those above it (common/sys/private_folder.h); else there is no lock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/unique_fd.h"
#include "worker_agent/node/lock_record.h"

namespace muster::agent {

class NodeLock {
 public:
  struct Options {
    std::string folder;   // MS_RECOVERY_PATH, else the user's state folder
    std::string machine;  // see MachineKey
    std::string job_id;
    std::string scheduler;                               // host:port
    std::string node_id;                                 // the user's; empty: none
    absl::Duration patience = absl::Seconds(3);          // for a former start that lives
    absl::Duration dying_patience = absl::Seconds(60);   // for one with a keeper that still ends its processes
    absl::Duration orphans_patience = absl::Seconds(5);  // for processes that such a one has left
    StartPlace place = StartPlace::Here();
    std::optional<ProcessMark> mark = {};  // of the processes of this start; none: the system allows none
    int wake_fd = -1;                      // readable: this program is to end, so nothing is waited for any more
  };

  // A machine for the lock's path: its host name and machine-id(5), which outlast a reboot.
  static std::string MachineKey();

  // Takes the lock; waits for a former start that is dying. The error says why there is no lock; the agent can go on
  // without. To be called while this is the only thread and before secrets are read: see proc_view.h.
  static absl::StatusOr<NodeLock> Take(const Options& options);

  NodeLock(NodeLock&& other) = default;
  NodeLock& operator=(NodeLock&&) = delete;

  int fd() const { return fd_.get(); }
  // A random token of the lock's file: a start with the same one has had the same lock, and nothing of those before it
  // runs, as far as orphans.h can see. Where that is not known there is a new one.
  const std::string& token() const { return record_.token; }
  // A random secret of this start: its processes carry it as their kStartVariable.
  const std::string& secret() const { return record_.secret; }
  // The number of times that the lock has been taken, this time included.
  uint64_t take() const { return record_.take; }
  // Names this start, and those before it that have certainly left nothing (lock_record.h).
  uint64_t start() const { return record_.start(); }
  const std::vector<uint64_t>& ended() const { return record_.ended; }
  // The reason why the former start may have left something, in a sentence's part; empty: it has left nothing.
  const std::string& doubt() const { return doubt_; }
  // The id that the scheduler assigned to an earlier start that did not see its job's end; empty: none.
  const std::string& kept_id() const { return record_.id; }

  // A scheduler has welcomed this start; `id`: the one that it has assigned, empty where the user has set one.
  void Keep(const std::string& id);
  // The processes of this start will be known by this folder.
  void KeepFolder(const std::string& work_folder);
  // The job has ended: the next start is a new node.
  void Remove();

 private:
  NodeLock(std::string folder, std::string name, UniqueFd held, UniqueFd fd, LockRecord record, std::string doubt);
  absl::Status Write() const;

  std::string folder_;
  std::string name_;
  UniqueFd held_;  // the folder
  UniqueFd fd_;
  LockRecord record_;
  std::string doubt_;
};

}  // namespace muster::agent
