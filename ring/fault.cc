#include "ring/fault.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "common/base/text.h"

namespace muster::ring {

std::string FaultWord(FaultKind kind) {
  switch (kind) {
    case FaultKind::kWrongCertificate:
      return "wrong certificate";
    case FaultKind::kBadCertificate:
      return "bad certificate";
    case FaultKind::kRefused:
      return "refused";
    case FaultKind::kTimedOut:
      return "timed out";
    case FaultKind::kUnreachable:
      return "unreachable";
    case FaultKind::kNotTls:
      return "no TLS";
    case FaultKind::kWrongPeer:
      return "wrong peer";
    case FaultKind::kWrongData:
      return "wrong data";
    case FaultKind::kSlow:
      return "slow";
    case FaultKind::kCertificateRefused:
      return "own certificate refused";
    case FaultKind::kBroken:
      return "broken";
    case FaultKind::kMissing:
      return "nobody came";
    case FaultKind::kStalled:
      return "stalled";
  }
  return "unknown";
}

bool IsConsequence(FaultKind kind) { return kind >= FaultKind::kCertificateRefused; }

bool FaultList::Add(Fault fault) {
  const bool is_known = std::any_of(faults_.begin(), faults_.end(), [&](const Fault& known) {
    return known.from == fault.from && known.kind == fault.kind && known.reporter == fault.reporter;
  });
  if (is_known || faults_.size() >= kMaxFaults) return false;
  CutText(fault.detail, kMaxFaultDetailBytes);
  faults_.push_back(std::move(fault));
  return true;
}

bool FaultList::IsAbout(uint32_t from) const {
  return std::any_of(faults_.begin(), faults_.end(), [&](const Fault& fault) { return fault.from == from; });
}

std::vector<Fault> FaultList::RootFaults() const {
  std::map<uint32_t, Fault> by_link;
  for (const Fault& fault : faults_) {
    const auto [found, is_new] = by_link.try_emplace(fault.from, fault);
    const Fault& known = found->second;
    const bool is_better = fault.kind < known.kind || (fault.kind == known.kind && fault.reporter < known.reporter);
    if (!is_new && is_better) found->second = fault;
  }
  const bool has_cause =
      std::any_of(by_link.begin(), by_link.end(), [](const auto& entry) { return !IsConsequence(entry.second.kind); });
  const bool has_other_than_stalled = std::any_of(
      by_link.begin(), by_link.end(), [](const auto& entry) { return entry.second.kind != FaultKind::kStalled; });
  if (!has_other_than_stalled) return StalledFirst();
  std::vector<Fault> root_faults;
  for (const auto& entry : by_link) {
    const Fault& fault = entry.second;
    const bool is_shown = has_cause ? !IsConsequence(fault.kind) : fault.kind != FaultKind::kStalled;
    if (is_shown) root_faults.push_back(fault);
  }
  return root_faults;
}

std::vector<Fault> FaultList::StalledFirst() const {
  const Fault* first = nullptr;
  for (const Fault& fault : faults_) {
    // True if the link's sender had stalled itself, and so had nothing to send. Then this link is not at fault.
    const bool is_starved = std::any_of(faults_.begin(), faults_.end(), [&](const Fault& other) {
      return other.reporter == fault.from && other.reporter != fault.reporter && other.progress <= fault.progress;
    });
    if (is_starved && first != nullptr && fault.progress >= first->progress) continue;
    const bool is_sooner = first == nullptr || fault.progress < first->progress;
    if (is_sooner || (fault.progress == first->progress && !is_starved)) first = &fault;
  }
  return first == nullptr ? std::vector<Fault>{} : std::vector<Fault>{*first};
}

std::vector<Fault> LoopbackFaults(const Plan& plan) {
  std::vector<Fault> faults;
  for (uint32_t from = 0; from < plan.size(); ++from) {
    const uint32_t to = (from + 1) % plan.size();
    const IpAddress& address = plan.peers[to].address;
    if (plan.IsInsideMachine(from) || !address.is_loopback() || plan.peers[from].address.is_loopback()) continue;
    faults.push_back({from, to, FaultKind::kUnreachable, from, 0,
                      absl::StrCat("the address ", address.ToString(),
                                   " reaches only its own machine; start ms-worker there with --worker_ip ADDRESS, one "
                                   "that the other machines can reach")});
  }
  return faults;
}

std::string FaultText(const Plan& plan, const Fault& fault) {
  const std::string from = fault.from < plan.size() ? EscapeControl(plan.peers[fault.from].host) : "?";
  const std::string to = fault.to < plan.size() ? plan.peers[fault.to].Where() : absl::StrCat("rank ", fault.to);
  return absl::StrCat("rank ", fault.from, " on ", from, " -> ", to, ": ", FaultWord(fault.kind),
                      fault.detail.empty() ? "" : absl::StrCat(": ", EscapeControl(fault.detail)));
}

}  // namespace muster::ring
