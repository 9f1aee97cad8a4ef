// What stands in the file of a node's lock: who has taken it last, where that one ran, and by what its processes are
// known. A start that gets the lock concludes from it what it may say of the former one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace muster::agent {

// Where a start runs. Pods of one image may share host name, machine-id(5) and state folder, so none of these tells.
struct StartPlace {
  std::string host;         // for people
  std::string boot;         // boot id: this kernel, until it ends; empty: not known
  std::string pids;         // its pid namespace: whose processes can be seen; empty: not known
  std::string hardware;     // the machine beyond its boot, by its network cards; empty in a container
  bool is_init = false;     // the first process of its pid namespace, with which all others there end
  uint64_t start_time = 0;  // of the agent, as in /proc/<pid>/stat: whatever it started is no older

  static StartPlace Here();
};

// Five lines as 0.1.0 has them (pid, token, id, work folder, take), then "name value" lines and a digest of all before.
struct LockRecord {
  pid_t pid = 0;
  std::string token;
  std::string id;
  std::string work_folder;
  uint64_t take = 0;
  std::string secret;  // random; in the environment of its processes (kStartVariable)
  StartPlace place;
  bool is_whole = false;  // with a digest that fits; else secret and place are empty

  std::string Encode() const;
  static LockRecord Decode(const std::string& text);
};

enum class FormerStart {
  kLook,       // it ran here: its processes can be seen, and ended
  kGone,       // all its processes have ended for certain
  kUnseen,     // agent and keeper have ended, as they held the lock; its processes can't be seen from here
  kElsewhere,  // on another machine, as far as can be told: there a lock may not reach, and it may live
};

// Of a start that has left a record, by one that has got the lock after it.
FormerStart Judge(const LockRecord& former, const StartPlace& here);

// Whether the process that holds the lock has ended. What can't be seen from here may live.
bool HasHolderEnded(const LockRecord& holder, const StartPlace& here);

// 64 or 128 random bits in hexadecimal digits; empty if there are none to be had.
std::string RandomHex(size_t bytes);

}  // namespace muster::agent
