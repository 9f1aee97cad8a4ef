// One start of a node at a time on one machine, and the id that the scheduler gave it.
//
// <folder>/nodes/<machine>/<job>@<scheduler>/<name>: an advisory lock (flock) that the agent takes before it forks the
// keeper, and that both hold for as long as they live; so who has it knows that the former start and its keeper have
// ended, and what they had started with them. What is left where both were killed is ended first: see remnants.h.
// The name is "id-<node id>" where the user has set one. Else it is a number, the lowest free one, and the file keeps
// the id that the scheduler assigned: the same line started again is the same node. The folder may lie on a network
// file system that all nodes share.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace muster::agent {

class NodeLock {
 public:
  struct Options {
    std::string folder;   // MS_RECOVERY_PATH, else the user's state folder
    std::string machine;  // see MachineKey
    std::string job_id;
    std::string scheduler;                                // host:port
    std::string node_id;                                  // the user's; empty: none
    absl::Duration patience = absl::Seconds(3);           // for a former start that lives
    absl::Duration dying_patience = absl::Seconds(60);    // for one whose keeper is ending its processes
    absl::Duration remnants_patience = absl::Seconds(5);  // for what such a one has left running
  };

  // A machine for the lock's path: its host name and machine-id(5), which outlast a reboot.
  static std::string MachineKey();

  // Waits for a former start that is dying. The error says why there is no lock; the agent can go on without.
  static absl::StatusOr<NodeLock> Take(const Options& options);

  NodeLock(NodeLock&& other) noexcept;
  NodeLock& operator=(NodeLock&&) = delete;
  ~NodeLock();

  int fd() const { return fd_; }
  // Random, of the lock's file: who has the same one has had the same lock, and nothing of those before it runs, as far
  // as remnants.h can tell.
  const std::string& token() const { return token_; }
  // How often the lock has been taken, this time included.
  uint64_t take() const { return take_; }
  // What the scheduler assigned to an earlier start that did not see its job's end; empty: nothing.
  const std::string& kept_id() const { return kept_id_; }

  // The scheduler assigned this id.
  void Keep(const std::string& id);
  // The processes of this start will be known by this folder.
  void KeepFolder(const std::string& work_folder);
  // The job has ended: the next start is a new node.
  void Remove();

 private:
  NodeLock(std::string path, int fd, std::string token, uint64_t take, std::string kept_id);
  void Write() const;

  std::string path_;
  int fd_;
  std::string token_;
  uint64_t take_;
  std::string kept_id_;
  std::string work_folder_;
};

}  // namespace muster::agent
