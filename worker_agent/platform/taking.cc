// The setting that gets a fact, unless a flag, a variable or a line of --config has set it:
//
//   the fact                      the setting
//   job_id, node_id, node_rank    the setting of the same name
//   slots                         local_worker_num
//   workers, else nodes x slots   worker_num
//   first_host, port              sched_host, sched_port: only with --with_scheduler, and the port only with the host
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/text.h"
#include "worker_agent/platform/platform.h"

namespace muster::agent {
namespace {

class Taker {
 public:
  Taker(const SettingsTable& table, LoadResult& loaded) : table_(table), loaded_(loaded) {}

  bool IsSet(const std::string& flag) { return loaded_.sources[flag] != "default"; }

  void Offer(const std::string& flag, const std::optional<Fact>& fact) {
    if (!fact) return;
    for (const Setting& setting : table_.settings()) {
      if (setting.flag == flag) return OfferTo(setting, *fact);
    }
  }

  std::vector<std::string> Lines(const std::string& platform) {
    std::vector<std::string> lines = std::move(stayed_);
    if (!taken_.empty())
      lines.insert(lines.begin(), absl::StrCat("from ", platform, ": ", absl::StrJoin(taken_, ", ")));
    return lines;
  }

 private:
  void OfferTo(const Setting& setting, const Fact& fact) {
    const std::string& flag = setting.flag;
    if (IsSet(flag)) {
      if (setting.show() != fact.value) {
        stayed_.push_back(absl::StrCat(flag, " stays ", Quoted(setting.show()), " (from ", loaded_.sources[flag],
                                       "), though ", fact.from, " says ", Quoted(fact.value)));
      }
      return;
    }
    const absl::Status parsed = setting.parse(fact.value);
    if (!parsed.ok()) {
      loaded_.findings.errors.push_back(absl::StrCat(flag, ": ", Quoted(fact.value), " (from ", fact.from, ") ",
                                                     std::string(parsed.message()), "; correct the variable, or set --",
                                                     flag));
      return;
    }
    loaded_.sources[flag] = fact.from;
    taken_.push_back(absl::StrCat(flag, " ", EscapeControl(fact.value), " (", fact.from, ")"));
  }

  const SettingsTable& table_;
  LoadResult& loaded_;
  std::vector<std::string> taken_;
  std::vector<std::string> stayed_;
};

std::optional<Fact> WorkerNum(const PlatformFacts& facts, uint32_t slots) {
  uint64_t nodes = 0;
  if (facts.workers || !facts.nodes) return facts.workers;
  if (slots == 0 || !absl::SimpleAtoi(facts.nodes->value, &nodes)) return std::nullopt;
  if (slots == 1) return facts.nodes;
  return Fact{absl::StrCat(nodes * slots), absl::StrCat(facts.nodes->from, " x ", slots)};
}

}  // namespace

std::vector<std::string> TakeFromPlatform(const PlatformFacts& facts, const SettingsTable& table,
                                          const TakingOptions& options, LoadResult& loaded) {
  SettingsFindings& findings = loaded.findings;
  findings.errors.insert(findings.errors.end(), facts.errors.begin(), facts.errors.end());
  findings.warnings.insert(findings.warnings.end(), facts.warnings.begin(), facts.warnings.end());
  if (!facts.errors.empty() || facts.platform.empty()) return {};
  Taker taker(table, loaded);
  taker.Offer("job_id", facts.job_id);
  taker.Offer("node_id", facts.node_id);
  taker.Offer("node_rank", facts.node_rank);
  taker.Offer("local_worker_num", facts.slots);
  taker.Offer("worker_num", WorkerNum(facts, options.count_slots()));
  if (options.with_scheduler && facts.first_host && !taker.IsSet("sched_host")) {
    taker.Offer("sched_host", facts.first_host);
    if (!taker.IsSet("sched_port")) taker.Offer("sched_port", facts.port);
  }
  return taker.Lines(facts.platform);
}

}  // namespace muster::agent
