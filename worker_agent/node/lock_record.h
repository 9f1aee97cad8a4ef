// The content of a node lock's file (node_lock.h): which start took the lock last, where it ran, and how its processes
// can be recognised. From this, the next start judges whether the former one's processes have all ended.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "worker_agent/keeper/process_mark.h"

namespace muster::agent {

// The machine and the namespaces in which a start ran. Host name, machine-id(5) and state folder do not identify the
// machine, since pods of one image may share them.
struct StartPlace {
  std::string host;         // for people
  std::string boot;         // the kernel's boot id, new after each boot; empty: not known
  std::string pids;         // the pid namespace; a start sees only processes of its own one; empty: not known
  std::string times;        // the time namespace, which shifts start times in /proc; empty: the kernel has none
  std::string hardware;     // a digest of the machine, the same after a boot; empty: not known, or in a container
  bool is_init = false;     // it was process 1 of its pid namespace: all processes there end with it
  uint64_t start_time = 0;  // of the agent, as in /proc/<pid>/stat: no process that it started is older

  static StartPlace Here();
};

// The file has five lines (pid, token, id, work folder, take), then lines "name value", and at the end a digest of all
// lines before.
struct LockRecord {
  pid_t pid = 0;
  std::string token;
  std::string id;
  std::string work_folder;
  uint64_t take = 0;
  std::string secret;               // random; in the environment of its processes (kStartVariable)
  std::optional<ProcessMark> mark;  // on its processes; nullopt: the system allowed no mark
  std::vector<uint64_t> ended;      // start() of former starts that have left no process running; the latest last
  bool has_joined = false;          // a scheduler has welcomed it, and so knows of it
  StartPlace place;
  bool is_whole = false;  // the digest is right; otherwise secret and place are empty

  // A number that identifies this start to the scheduler; 0: it has no secret.
  uint64_t start() const;
  // The starts that the next start may report as ended, if all processes of this one have ended: `ended` and this one.
  std::vector<uint64_t> EndedWithIt() const;

  std::string Encode() const;
  static LockRecord Decode(const std::string& text);
};

enum class FormerStart {
  kLook,       // it ran in this pid namespace: this start can find its processes and end them
  kGone,       // all its processes have ended for certain
  kUnseen,     // its agent and keeper have ended, since the lock was free; other processes can't be seen from here
  kElsewhere,  // it seems to have run on another machine, where this lock may have no effect: it may still run
};

// Judges a former start by its record, for the start `here` that has taken the lock after it.
FormerStart Judge(const LockRecord& former, const StartPlace& here);

// True if the agent that wrote the record has certainly ended. False if it can't be seen from here: it may live.
bool HasHolderEnded(const LockRecord& holder, const StartPlace& here);

// Returns `bytes` random bytes in hexadecimal digits; empty if the kernel gives none.
std::string RandomHex(size_t bytes);

}  // namespace muster::agent
