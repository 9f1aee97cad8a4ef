// The content of a node lock's file: the start that took the lock last, where it ran, and the signs of its processes. A
// start that gets the lock concludes from it what it may report of the former one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "worker_agent/keeper/process_mark.h"

namespace muster::agent {

// The place of a start. Pods of one image may share host name, machine-id(5) and state folder, so none of these
// identifies it.
struct StartPlace {
  std::string host;         // for people
  std::string boot;         // boot id: this kernel, until it ends; empty: not known
  std::string pids;         // its pid namespace: the processes that can be seen; empty: not known
  std::string times;        // its time namespace: start times of another one's /proc are shifted; empty: there are none
  std::string hardware;     // the machine beyond its boot; empty in a container, and where it is not known
  bool is_init = false;     // the first process of its pid namespace, with which all others there end
  uint64_t start_time = 0;  // of the agent, as in /proc/<pid>/stat: no process that it started is older

  static StartPlace Here();
};

// Five lines (pid, token, id, work folder, take), then "name value" lines and a digest of all before.
struct LockRecord {
  pid_t pid = 0;
  std::string token;
  std::string id;
  std::string work_folder;
  uint64_t take = 0;
  std::string secret;               // random; in the environment of its processes (kStartVariable)
  std::optional<ProcessMark> mark;  // of its processes; none: the system allowed none
  std::vector<uint64_t> ended;      // starts before it that have left nothing, by start(), the latest last
  bool has_joined = false;          // a scheduler has welcomed it, so knows of it
  StartPlace place;
  bool is_whole = false;  // with a digest that fits; else secret and place are empty

  // The name of this start for the scheduler; 0: it has no secret.
  uint64_t start() const;
  // The starts, this one and those before it, that a later start may report as ended, if this one has left nothing.
  std::vector<uint64_t> EndedWithIt() const;

  std::string Encode() const;
  static LockRecord Decode(const std::string& text);
};

enum class FormerStart {
  kLook,       // it ran here: its processes can be seen, and ended
  kGone,       // all its processes have ended for certain
  kUnseen,     // agent and keeper have ended, as they held the lock; its processes can't be seen from here
  kElsewhere,  // on another machine, as far as is known: there a lock may not reach, and it may live
};

// Judges a start that has left a record, for one that has got the lock after it.
FormerStart Judge(const LockRecord& former, const StartPlace& here);

// True if the process that holds the lock has ended. One that can't be seen from here may live.
bool HasHolderEnded(const LockRecord& holder, const StartPlace& here);

// Returns 64 or 128 random bits in hexadecimal digits; empty if there are none.
std::string RandomHex(size_t bytes);

}  // namespace muster::agent
