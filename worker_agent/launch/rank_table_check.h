// The rules of a rank table that concern several of its entries; rank_table.cc reads the entries themselves.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>

#include "worker_agent/launch/rank_table.h"

namespace muster::agent {

// Gathers what is wrong, up to a limit: a table of a million wrong entries is no reason for as many messages.
class TableProblems {
 public:
  explicit TableProblems(std::vector<TableProblem>& problems) : problems_(problems) {}

  void Add(const std::string& rule, const std::string& entry, const std::string& found, const std::string& remedy);
  bool none() const { return problems_.empty(); }

 private:
  std::vector<TableProblem>& problems_;
};

// The numbers that nothing has, for what to write instead: the lowest first, each once.
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

// Device addresses present where they are needed, unique, as many everywhere. `has_one_pod`: all servers stand in one
// super pod, whose own links need no device addresses.
void CheckDeviceAddresses(const RankTable& table, bool has_one_pod, TableProblems& problems);

// super_pod_list of version 1.2: every server in exactly one pod; super device ids unique within a pod.
void CheckPods(const RankTable& table, const nlohmann::json& pods, TableProblems& problems);

}  // namespace muster::agent
