// How ReadPlatform chooses a platform; a platform fits if all its signs are set:
//
//   --from NAME                 that platform if it fits; otherwise an error that names the missing variables
//   --from auto, one fits       that platform (platforms in its `inner` may fit, too, but don't count)
//   --from auto, several fit    an error that names them and their variables
//   --from auto, none fits      a warning, and no facts
//
// A value that should be a number and is none, or a place that is not below the number of nodes, is an error that names
// the variables.

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/limits.h"
#include "common/base/text.h"
#include "common/settings/values.h"
#include "worker_agent/platform/platform.h"

namespace muster::agent {
namespace {

std::vector<std::string> MissingSigns(const Platform& platform, const Variables& environment) {
  std::vector<std::string> missing;
  for (const char* sign : platform.signs) {
    if (!FactOf(environment, sign)) missing.push_back(sign);
  }
  return missing;
}

std::vector<const Platform*> Recognised(const Variables& environment) {
  std::vector<const Platform*> fit;
  for (const Platform& platform : Platforms()) {
    if (MissingSigns(platform, environment).empty()) fit.push_back(&platform);
  }
  std::vector<const Platform*> outer;
  for (const Platform* platform : fit) {
    const bool is_inside = absl::c_any_of(fit, [&](const Platform* other) {
      return absl::c_any_of(other->inner, [&](const std::string& name) { return name == platform->name; });
    });
    if (!is_inside) outer.push_back(platform);
  }
  return outer;
}

std::string Signs(const Platform& platform) { return absl::StrJoin(platform.signs, " and "); }

const Platform* Choose(const std::string& from, const Variables& environment, PlatformFacts& facts) {
  if (from != "auto") {
    const auto row = absl::c_find_if(Platforms(), [&](const Platform& platform) { return platform.name == from; });
    if (row == Platforms().end()) return nullptr;  // the setting's parser takes names of the table only
    const std::vector<std::string> missing = MissingSigns(*row, environment);
    if (missing.empty()) return &*row;
    facts.errors.push_back(absl::StrCat("from: this is not ", row->what, ", since ", absl::StrJoin(missing, " and "),
                                        missing.size() == 1 ? " is not set" : " are not set",
                                        from == "slurm" ? ": start ms-worker with srun" : "",
                                        "; or leave --from (MS_FROM) out"));
    return nullptr;
  }
  const std::vector<const Platform*> fit = Recognised(environment);
  if (fit.size() == 1) return fit[0];
  if (fit.empty()) {
    facts.warnings.push_back(
        "from: auto recognises nothing here (looked for Slurm, Kubernetes' jobs and mpirun), so --from adds no "
        "settings");
    return nullptr;
  }
  std::vector<std::string> matches;
  for (const Platform* platform : fit) {
    matches.push_back(absl::StrCat(platform->what, " (", Signs(*platform), ": --from ", platform->name, ")"));
  }
  facts.errors.push_back(absl::StrCat("from: this looks like ", absl::StrJoin(matches, " and like "), "; choose one"));
  return nullptr;
}

std::optional<Fact> First(const std::vector<const char*>& names, const Variables& environment, PlatformFacts& facts) {
  std::optional<Fact> first;
  for (const char* name : names) {
    const auto fact = FactOf(environment, name);
    if (fact && first && fact->value != first->value) {
      facts.warnings.push_back(absl::StrCat(first->from, " is ", Quoted(first->value), ", but ", name, " is ",
                                            Quoted(fact->value), "; using ", first->from));
    }
    if (!first) first = fact;
  }
  return first;
}

// Returns the fact's number; nullopt if it is missing or wrong. A wrong one is reported as an error.
std::optional<int64_t> CheckNumber(const std::optional<Fact>& fact, int64_t low, int64_t high, PlatformFacts& facts) {
  if (!fact) return std::nullopt;
  const auto number = ParseWholeNumber(fact->value, low, high);
  if (number.ok()) return *number;
  facts.errors.push_back(absl::StrCat(fact->from, " is ", Quoted(fact->value), ", but ", number.status().message(),
                                      "; correct the variable, or leave --from out and give the job's size and this "
                                      "node's place with ms-worker's own settings"));
  return std::nullopt;
}

void CheckNumbers(PlatformFacts& facts) {
  const auto nodes = CheckNumber(facts.nodes, 1, kMaxWorkers, facts);
  const auto place = CheckNumber(facts.node_rank, 0, kMaxWorkers - 1, facts);
  CheckNumber(facts.workers, 1, kMaxWorkers, facts);
  if (facts.slots && facts.slots->value != "auto") CheckNumber(facts.slots, 1, kMaxSlotsPerNode, facts);
  if (nodes && place && *place >= *nodes) {
    facts.errors.push_back(absl::StrCat(facts.node_rank->from, " is ", *place, ", but ", facts.nodes->from, " is ",
                                        *nodes, ", so places end at ", *nodes - 1));
  }
}

}  // namespace

std::optional<Fact> FactOf(const Variables& environment, const std::string& name) {
  const auto found = environment.find(name);
  if (found == environment.end() || found->second.empty()) return std::nullopt;
  return Fact{found->second, name};
}

std::optional<Fact> PartOfName(const std::optional<Fact>& host, size_t index) {
  if (!host || host->value.find_first_not_of("0123456789.") == std::string::npos) return std::nullopt;
  const std::vector<std::string> parts = absl::StrSplit(host->value, '.');
  if (index >= parts.size() || parts[index].empty()) return std::nullopt;
  return Fact{parts[index], host->from};
}

std::vector<std::string> PlatformNames() {
  std::vector<std::string> names;
  for (const Platform& platform : Platforms()) names.push_back(platform.name);
  names.push_back("auto");
  return names;
}

PlatformFacts ReadPlatform(const std::string& from, const Variables& environment) {
  PlatformFacts facts;
  const Platform* platform = Choose(from, environment, facts);
  if (platform == nullptr) return facts;
  facts.platform = platform->name;
  facts.nodes = First(platform->nodes, environment, facts);
  facts.node_rank = First(platform->node_rank, environment, facts);
  facts.slots = First(platform->slots, environment, facts);
  facts.workers = First(platform->workers, environment, facts);
  facts.first_host = First(platform->first_host, environment, facts);
  if (platform->more != nullptr) platform->more(environment, facts);
  CheckNumbers(facts);
  return facts;
}

}  // namespace muster::agent
