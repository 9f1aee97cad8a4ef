#include "common/show/hostfile.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/text.h"

namespace muster {
namespace {

struct Machine {
  uint32_t number = 0;
  uint32_t first_rank = 0;
  std::string name;
  uint32_t slots = 0;
};

std::vector<Machine> MachinesOf(const v1::RanksReply& ranks) {
  std::vector<Machine> machines;
  for (const v1::RankStatus& rank : ranks.ranks()) {
    if (rank.role() != v1::ROLE_WORKER) continue;
    const auto same = [&](const Machine& machine) { return machine.number == rank.node_rank(); };
    auto found = std::find_if(machines.begin(), machines.end(), same);
    if (found == machines.end()) {
      const bool has_colons = absl::StrContains(rank.address(), ':');
      machines.push_back(
          {rank.node_rank(), rank.rank(), EscapeControl(has_colons ? rank.host_name() : rank.address()), 0});
      found = machines.end() - 1;
    }
    found->first_rank = std::min(found->first_rank, rank.rank());
    ++found->slots;
  }
  std::sort(machines.begin(), machines.end(),
            [](const Machine& a, const Machine& b) { return a.first_rank < b.first_rank; });
  return machines;
}

}  // namespace

std::string HostFileText(const v1::RanksReply& ranks, const std::string& form) {
  const bool is_one_line = form == "horovod";
  const char* const between = is_one_line || form == "mpich" ? ":" : " slots=";
  std::string text;
  for (const Machine& machine : MachinesOf(ranks)) {
    if (is_one_line && !text.empty()) text += ",";
    absl::StrAppend(&text, machine.name, between, machine.slots, is_one_line ? "" : "\n");
  }
  if (is_one_line && !text.empty()) text += "\n";
  return text;
}

}  // namespace muster
