// The node's lock: it ensures that a node has only one start (one ms-worker) at a time on a machine, and its file keeps
// the node's id.
//
// The lock is an advisory lock (flock) on the file <folder>/nodes/<machine>/<job>@<scheduler>/<name>. Agent and keeper
// hold it as long as they live. So a start that gets it knows that the former start's agent and keeper have ended, and
// with them all that they had started. The exception: if both were killed, processes may be left. Take ends those
// before it returns (orphans.h).
//
// <name> is "id-<node id>" if the user has set an id. Otherwise it is the lowest free number, and the file keeps the id
// that the scheduler has assigned. So the same command line, started again, is the same node.
//
// The folder may lie on a network file system that all nodes share, and pods of one image may have the same <machine>.
// So the file also records where its start ran, so that a start elsewhere is not mistaken for one of this node
// (lock_record.h).
//
// The file's content decides which processes a start kills, and what it reports as ended. So the folder must belong to
// this user, and no other user may be able to change it or a folder above it (common/sys/private_folder.h). Otherwise
// there is no lock.
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
    std::string node_id;                                 // the user's; empty: the user has set none
    absl::Duration patience = absl::Seconds(3);          // the wait for a former start if its agent lives
    absl::Duration dying_patience = absl::Seconds(60);   // the wait if only its keeper still lives
    absl::Duration orphans_patience = absl::Seconds(5);  // the search for processes that it has left
    StartPlace place = StartPlace::Here();
    std::optional<ProcessMark> mark = {};  // on the processes of this start; nullopt: the system allows no mark
    int wake_fd = -1;                      // once it is readable, Take waits no longer: this program must end
  };

  // Returns <machine> for the lock's path: a hash of host name and machine-id(5), which stay the same after a reboot.
  static std::string MachineKey();

  // Takes the lock; waits for a former start that is about to end. The error says why there is no lock; the agent can
  // go on without one. Call it while this is the only thread, and before secrets are read: it may fork (proc_view.h).
  static absl::StatusOr<NodeLock> Take(const Options& options);

  NodeLock(NodeLock&& other) = default;
  NodeLock& operator=(NodeLock&&) = delete;

  int fd() const { return fd_.get(); }
  // A random token in the lock's file. A start keeps the former start's token if orphans.h finds that all processes of
  // former starts have ended. Otherwise it makes a new token.
  const std::string& token() const { return record_.token; }
  // A random secret of this start, which its processes have in their environment (kStartVariable).
  const std::string& secret() const { return record_.secret; }
  // The number of times that the lock has been taken, this time included.
  uint64_t take() const { return record_.take; }
  // The number of this start, and the numbers of starts before it that have certainly left no process (lock_record.h).
  uint64_t start() const { return record_.start(); }
  const std::vector<uint64_t>& ended() const { return record_.ended; }
  // The reason why processes of the former start may still run, as part of a sentence; empty: all have ended.
  const std::string& doubt() const { return doubt_; }
  // The id that the scheduler assigned to an earlier start, if that start's job has not ended; empty: there is none.
  const std::string& kept_id() const { return record_.id; }

  // Records that a scheduler has welcomed this start. `id`: the id that it has assigned; empty if the user has set one.
  void Keep(const std::string& id);
  // Records this start's work folder.
  void KeepFolder(const std::string& work_folder);
  // Removes the file, so that the next start is a new node. Call it once the job has ended.
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
