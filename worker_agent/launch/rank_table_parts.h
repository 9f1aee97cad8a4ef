// The parts of rank_table.cc that read and check a rank table's entries.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "worker_agent/launch/rank_table.h"

namespace muster::agent {

// ---- rank_table_json.cc: the text as JSON, and its syntax errors: tables are merged and edited by hand.

// Returns the table's object. The error's message has the line and column of the syntax error (both from 1; a column is
// a character) and how to correct it. Texts of any size and depth are taken.
absl::StatusOr<nlohmann::json> ParseTableJson(const std::string& text);

// Returns the name of the other format that this object is in, and how to get it as a table that is read; empty: none
// that is known.
std::string OtherFormat(const nlohmann::json& table);

// ---- rank_table_check.cc: the rules that concern several entries.

// Gathers problems, up to a limit: a table of a million wrong entries is no reason for as many messages.
class TableProblems {
 public:
  explicit TableProblems(std::vector<TableProblem>& problems) : problems_(problems) {}

  void Add(const std::string& rule, const std::string& entry, const std::string& found, const std::string& remedy);
  bool none() const { return problems_.empty(); }

 private:
  std::vector<TableProblem>& problems_;
};

// The numbers that nothing has, for proposals: the lowest first, each once.
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

// Rank ids 0..N-1, each once.
void CheckRanks(const RankTable& table, TableProblems& problems);

// Server ids unique; device ids unique within a server.
void CheckServers(const RankTable& table, TableProblems& problems);

// Device addresses present where they are needed, unique, as many everywhere. `has_one_pod`: all servers are in one
// super pod, which has links of its own and needs no device addresses.
void CheckDeviceAddresses(const RankTable& table, bool has_one_pod, TableProblems& problems);

// super_pod_list of version 1.2: every server in exactly one pod; super device ids unique within a pod.
void CheckPods(const RankTable& table, const nlohmann::json& pods, TableProblems& problems);

}  // namespace muster::agent
