// One start of a node at a time on one machine, and the id that the scheduler gave it.
//
// <folder>/nodes/<machine>/<job>@<scheduler>/<name>: an advisory lock (flock) that the agent takes before it forks the
// keeper, and that both hold for as long as they live; so who has it knows that the former start and its keeper have
// ended, and what they had started with them. What is left where both were killed is ended first: see orphans.h.
// The name is "id-<node id>" where the user has set one. Else it is a number, the lowest free one, and the file keeps
// the id that the scheduler assigned: the same line started again is the same node. The folder may lie on a network
// file system that all nodes share, and pods of one image may have one <machine>: what the file says of a start that
// ran elsewhere is not held to be of this node's (lock_record.h).
//
// A start decides by the file what it kills and vouches for. So the folder must be this user's, and nobody else may be
// able to change it or those above it (common/sys/private_folder.h); else there is no lock.
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
    absl::Duration dying_patience = absl::Seconds(60);   // for one whose keeper is ending its processes
    absl::Duration orphans_patience = absl::Seconds(5);  // for what such a one has left running
    StartPlace place = StartPlace::Here();
    std::optional<ProcessMark> mark = {};  // of the processes of this start; none: the system allows none
    int wake_fd = -1;                      // readable: this program is to end, so nothing is waited for any more
  };

  // A machine for the lock's path: its host name and machine-id(5), which outlast a reboot.
  static std::string MachineKey();

  // Waits for a former start that is dying. The error says why there is no lock; the agent can go on without. While
  // this is the only thread and before secrets are read: see proc_view.h.
  static absl::StatusOr<NodeLock> Take(const Options& options);

  NodeLock(NodeLock&& other) = default;
  NodeLock& operator=(NodeLock&&) = delete;

  int fd() const { return fd_.get(); }
  // Random, of the lock's file: who has the same one has had the same lock, and nothing of those before it runs, as far
  // as orphans.h can tell. Where that can't be told there is a new one.
  const std::string& token() const { return record_.token; }
  // Random, of this start: what its processes carry as their kStartVariable.
  const std::string& secret() const { return record_.secret; }
  // How often the lock has been taken, this time included.
  uint64_t take() const { return record_.take; }
  // Names this start, and those before it that have certainly left nothing (lock_record.h).
  uint64_t start() const { return record_.start(); }
  const std::vector<uint64_t>& ended() const { return record_.ended; }
  // Why it can't be said that the former start has left nothing, in a sentence's part; empty: it can.
  const std::string& doubt() const { return doubt_; }
  // What the scheduler assigned to an earlier start that did not see its job's end; empty: nothing.
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
