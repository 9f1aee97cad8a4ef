// The facts that a platform gives a process that it starts: Slurm, kinds of Kubernetes' jobs, mpirun. Pure.
//
// A new platform is a row in table.cc, an environment of it as test data in tests/unit/platform/environments, and a row
// in the test. Only platforms with a recorded environment there have a row: nothing is guessed.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/settings/settings.h"

namespace muster::agent {

using Variables = std::map<std::string, std::string>;

// A value and the variables that it is from.
struct Fact {
  std::string value;
  std::string from;
};

struct PlatformFacts {
  std::string platform;  // "slurm"; empty: none was recognised
  std::optional<Fact> job_id;
  std::optional<Fact> node_id;     // a name that a pod which comes in place of another one has as well
  std::optional<Fact> nodes;       // agents of the job, a number
  std::optional<Fact> node_rank;   // the place of this agent among them, from 0
  std::optional<Fact> slots;       // processes of this agent: a number, or "auto"
  std::optional<Fact> workers;     // processes of the job, where the platform gives them itself
  std::optional<Fact> first_host;  // where an agent's own scheduler runs
  std::optional<Fact> port;        // at which
  std::vector<std::string> errors;
  std::vector<std::string> warnings;
};

// One row of the table.
struct Platform {
  const char* name;                // --from NAME
  const char* what;                // "a step of Slurm"
  std::vector<const char*> signs;  // all of them are set there
  std::vector<const char*> inner;  // their variables may be set there as well, and mean less
  // Variables; the first that is set counts, and others with another value are reported.
  std::vector<const char*> nodes = {};
  std::vector<const char*> node_rank = {};
  std::vector<const char*> slots = {};
  std::vector<const char*> workers = {};
  std::vector<const char*> first_host = {};
  // Reads facts that take more than a look at a variable; called after the above has been read. May be null.
  void (*more)(const Variables& environment, PlatformFacts& facts) = nullptr;
};

const std::vector<Platform>& Platforms();

// Returns the names of the table, and "auto".
std::vector<std::string> PlatformNames();

// `from`: a name of the table, or "auto", which warns where nothing is recognised. Numbers are checked here.
PlatformFacts ReadPlatform(const std::string& from, const Variables& environment);

// For `more`: returns the variable's value, if it is set and not empty.
std::optional<Fact> FactOf(const Variables& environment, const std::string& name);

// Returns the part number `index`, from 0, of "pod-1.service.namespace", if it is there and the host is a name.
std::optional<Fact> PartOfName(const std::optional<Fact>& host, size_t index);

// ---- taking.cc: --from: the settings that a platform's environment gives where nothing else does.

struct TakingOptions {
  bool with_scheduler = false;            // the scheduler's address is taken as well
  std::function<uint32_t()> count_slots;  // of this node, once local_worker_num is settled; 0: not known
};

// Stores facts into the table's variables that have no value, and names the variable as their source. A setting that is
// set already stays; a difference is reported. Returns a line for the log for each setting that was taken or stayed.
std::vector<std::string> TakeFromPlatform(const PlatformFacts& facts, const SettingsTable& table,
                                          const TakingOptions& options, LoadResult& loaded);

}  // namespace muster::agent
