// The parts of rank_table.cc that read and check a rank table's entries.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "worker_agent/launch/rank_table.h"

namespace muster::agent {

// ---- rank_table_json.cc: parses the text. Explains syntax errors well, since people merge and edit tables by hand.

// Returns the table's object. The error's message has line and column of the syntax error (both count from 1; a column
// is a character) and says how to correct it. Any text may be given, of any size and depth.
absl::StatusOr<nlohmann::json> ParseTableJson(const std::string& text);

// Returns a text that names the format of the object if it is one of the known formats that this program can't read;
// else an empty text.
std::string OtherFormat(const nlohmann::json& table);

// ---- rank_table_check.cc: checks the rules that concern several entries. Each function adds what it finds to
// `problems`.

// Collects problems up to a limit, so that a table with a million wrong entries does not cause a million messages.
class TableProblems {
 public:
  explicit TableProblems(std::vector<TableProblem>& problems) : problems_(problems) {}

  void Add(const std::string& rule, const std::string& entry, const std::string& found, const std::string& remedy);
  bool none() const { return problems_.empty(); }

 private:
  std::vector<TableProblem>& problems_;
};

// Finds numbers that no entry of the table has, which remedies can propose. Take returns them in rising order, each
// once.
class FreeNumbers {
 public:
  void Use(uint32_t number) { used_.insert(number); }
  uint32_t Take() {
    while (used_.count(next_) != 0) ++next_;
    return next_++;
  }

 private:
  std::set<uint32_t> used_;
  uint32_t next_ = 0;
};

// Rank ids must be 0..N-1, each once.
void CheckRanks(const RankTable& table, TableProblems& problems);

// Server ids must be unique; device ids must be unique within a server.
void CheckServers(const RankTable& table, TableProblems& problems);

// Device addresses must be unique, every device must have equally many, and with several servers each needs one.
// `has_one_pod`: all servers are in one super pod; its devices have links of their own and need no addresses.
void CheckDeviceAddresses(const RankTable& table, bool has_one_pod, TableProblems& problems);

// super_pod_list of version 1.2: every server must be in exactly one pod; super device ids must be unique within a pod.
void CheckPods(const RankTable& table, const nlohmann::json& pods, TableProblems& problems);

}  // namespace muster::agent
