// --from: reads facts about the job from the variables that a platform (Slurm, a Kubernetes operator, mpirun) sets for
// the processes that it starts. Pure.
//
// A new platform needs a row in table.cc, a recorded environment of it in tests/unit/platform/environments, and a row
// in the test. Without a recorded environment it gets no row, so that no variable is guessed.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/settings/settings.h"

namespace muster::agent {

using Variables = std::map<std::string, std::string>;

// A value, and the variables from which it was read.
struct Fact {
  std::string value;
  std::string from;
};

struct PlatformFacts {
  std::string platform;  // "slurm"; empty: none was recognised
  std::optional<Fact> job_id;
  std::optional<Fact> node_id;     // a name that stays the same if the platform replaces the pod
  std::optional<Fact> nodes;       // the number of agents of the job
  std::optional<Fact> node_rank;   // this agent's place among them, from 0
  std::optional<Fact> slots;       // the number of this agent's processes, or "auto"
  std::optional<Fact> workers;     // the number of the job's processes, if the platform sets it
  std::optional<Fact> first_host;  // the host where --with_scheduler starts the scheduler
  std::optional<Fact> port;        // the port for that scheduler
  std::vector<std::string> errors;
  std::vector<std::string> warnings;
};

// One row of the table.
struct Platform {
  const char* name;                // --from NAME
  const char* what;                // "a step of Slurm"
  std::vector<const char*> signs;  // the variables that are all set on this platform
  std::vector<const char*>
      inner;  // platforms on which this one may build: their signs may be set, too, but don't count
  // The variables with each fact. The first one that is set counts; a warning names a later one with another value.
  std::vector<const char*> nodes = {};
  std::vector<const char*> node_rank = {};
  std::vector<const char*> slots = {};
  std::vector<const char*> workers = {};
  std::vector<const char*> first_host = {};
  // Reads the facts that are not simply a variable's value. It is called after those above have been read. May be null.
  void (*more)(const Variables& environment, PlatformFacts& facts) = nullptr;
};

const std::vector<Platform>& Platforms();

// Returns the names of all platforms, and "auto".
std::vector<std::string> PlatformNames();

// Reads the facts and checks the numbers among them. `from`: a platform's name, or "auto", which recognises the
// platform by its signs and warns if it finds none.
PlatformFacts ReadPlatform(const std::string& from, const Variables& environment);

// Returns the variable's value if it is set and not empty. Used by Platform::more.
std::optional<Fact> FactOf(const Variables& environment, const std::string& name);

// Returns part number `index`, from 0, of a host name such as "pod-1.service.namespace". nullopt: there is no such
// part, or the host is an address.
std::optional<Fact> PartOfName(const std::optional<Fact>& host, size_t index);

// ---- taking.cc: puts a platform's facts into the settings that nothing else has set.

struct TakingOptions {
  bool with_scheduler = false;            // also takes the scheduler's address
  std::function<uint32_t()> count_slots;  // this node's slots; called after local_worker_num was taken; 0: not known
};

// Stores the facts in settings of the table that are not set, and notes the variable as their source. Does not change a
// setting that is set. Returns lines for the log: one with all settings that were taken, and one for each setting that
// stays though the platform has another value.
std::vector<std::string> TakeFromPlatform(const PlatformFacts& facts, const SettingsTable& table,
                                          const TakingOptions& options, LoadResult& loaded);

}  // namespace muster::agent
