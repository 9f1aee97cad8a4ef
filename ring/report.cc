#include "ring/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/show/table.h"

namespace muster::ring {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxLinksShown = 64;

double Megabytes(uint64_t bytes_per_second) { return static_cast<double>(bytes_per_second) / 1e6; }

double Milliseconds(uint64_t ns) { return static_cast<double>(ns) / 1e6; }

size_t MachineCount(const Plan& plan) {
  std::set<uint32_t> machines;
  for (const Peer& peer : plan.peers) machines.insert(peer.machine);
  return machines.size();
}

std::string Count(size_t count, const char* what) { return absl::StrCat(count, " ", what, count == 1 ? "" : "s"); }

// Returns the link's bandwidth as a fraction of the median of its kind.
double OfMedian(const Checked& checked, uint32_t from) {
  std::vector<uint64_t> rates;
  for (uint32_t other = 0; other < checked.result.links.size(); ++other) {
    if (checked.plan->IsInsideMachine(other) == checked.plan->IsInsideMachine(from)) {
      rates.push_back(checked.result.links[other].bytes_per_second);
    }
  }
  std::sort(rates.begin(), rates.end());
  const double median = static_cast<double>(rates[rates.size() / 2]);
  return median > 0 ? static_cast<double>(checked.result.links[from].bytes_per_second) / median : 0;
}

}  // namespace

std::string CauseText(const Checked& checked) {
  std::vector<std::string> texts;
  for (const Fault& fault : checked.result.faults) texts.push_back(FaultText(*checked.plan, fault));
  return texts.empty() ? "" : absl::StrCat("the ring is broken: ", absl::StrJoin(texts, "; "));
}

std::string RenderHeadline(const Checked& checked) {
  const Plan& plan = *checked.plan;
  const RingResult& result = checked.result;
  std::string out = absl::StrCat("ring of ", Count(plan.size(), "rank"), " on ", Count(MachineCount(plan), "machine"),
                                 plan.is_secure ? " over mutual TLS" : " without TLS");
  if (!result.IsGood()) {
    absl::StrAppend(&out, ": ", Count(result.faults.size(), "faulty link"), "\n");
    for (const Fault& fault : result.faults) absl::StrAppend(&out, "  ", FaultText(plan, fault), "\n");
    return out;
  }
  absl::StrAppend(&out, ": good");
  if (result.sum_ns > 0) {
    absl::StrAppend(&out, absl::StrFormat("; %.1f MiB summed in %.1f ms",
                                          static_cast<double>(checked.bytes) / (1 << 20), Milliseconds(result.sum_ns)));
  }
  absl::StrAppend(&out, absl::StrFormat("; all in %.2f s\n", absl::ToDoubleSeconds(result.took)));
  return out;
}

std::string RenderLinks(const Checked& checked) {
  const Plan& plan = *checked.plan;
  const std::vector<LinkFigures>& links = checked.result.links;
  std::vector<uint32_t> shown(links.size());
  for (uint32_t i = 0; i < shown.size(); ++i) shown[i] = i;
  if (shown.size() > kMaxLinksShown) {
    std::stable_sort(shown.begin(), shown.end(),
                     [&](uint32_t a, uint32_t b) { return OfMedian(checked, a) < OfMedian(checked, b); });
    shown.resize(kMaxLinksShown);
  }
  if (shown.empty()) return "";
  Table table({{"FROM", Align::kRight},
               {"HOST"},
               {"TO", Align::kRight},
               {"HOST"},
               {"LATENCY", Align::kRight},
               {"MEDIAN", Align::kRight},
               {"BANDWIDTH", Align::kRight},
               {"OF MEDIAN", Align::kRight}});
  for (const uint32_t from : shown) {
    const uint32_t to = (from + 1) % plan.size();
    table.AddRow({absl::StrCat(from), plan.peers[from].host, absl::StrCat(to), plan.peers[to].host,
                  absl::StrFormat("%.3f ms", Milliseconds(links[from].latency_ns)),
                  absl::StrFormat("%.3f ms", Milliseconds(links[from].latency_median_ns)),
                  absl::StrFormat("%.1f MB/s", Megabytes(links[from].bytes_per_second)),
                  absl::StrFormat("%.2f", OfMedian(checked, from))});
  }
  return table.Print();
}

std::string ReportJson(const Checked& checked) {
  const Plan& plan = *checked.plan;
  const RingResult& result = checked.result;
  Json links = Json::array();
  for (uint32_t from = 0; from < result.links.size(); ++from) {
    const uint32_t to = (from + 1) % plan.size();
    links.push_back({{"from", from},
                     {"to", to},
                     {"from_host", plan.peers[from].host},
                     {"to_host", plan.peers[to].host},
                     {"inside_machine", plan.IsInsideMachine(from)},
                     {"latency_ms", Milliseconds(result.links[from].latency_ns)},
                     {"latency_median_ms", Milliseconds(result.links[from].latency_median_ns)},
                     {"megabytes_per_second", Megabytes(result.links[from].bytes_per_second)},
                     {"of_median", OfMedian(checked, from)}});
  }
  Json faults = Json::array();
  for (const Fault& fault : result.faults) {
    faults.push_back({{"from", fault.from},
                      {"to", fault.to},
                      {"from_host", plan.peers[fault.from].host},
                      {"to_host", plan.peers[fault.to].host},
                      {"to_address", plan.peers[fault.to].address.ToString()},
                      {"to_port", plan.peers[fault.to].port},
                      {"kind", FaultWord(fault.kind)},
                      {"detail", fault.detail},
                      {"reported_by", fault.reporter},
                      {"text", FaultText(plan, fault)}});
  }
  const Json document = {{"good", result.IsGood()},
                         {"job_id", plan.job_id},
                         {"run", plan.run},
                         {"round", plan.round},
                         {"rank", plan.rank},
                         {"world_size", plan.size()},
                         {"tls", plan.is_secure},
                         {"bytes", checked.bytes},
                         {"took_ms", absl::ToDoubleMilliseconds(result.took)},
                         {"sum_ms", result.sum_ns > 0 ? Json(Milliseconds(result.sum_ns)) : Json()},
                         {"links", std::move(links)},
                         {"faults", std::move(faults)}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace muster::ring
