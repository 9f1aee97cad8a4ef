#include "scheduler/ingress/bind_plan.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/text.h"

namespace muster::scheduler {
namespace {

bool AllLoopback(const std::vector<IpAddress>& addresses) {
  return std::all_of(addresses.begin(), addresses.end(), [](const IpAddress& a) { return a.is_loopback(); });
}

std::vector<IpAddress> LocalOnes(const std::vector<IpAddress>& addresses, const NameService& names) {
  std::vector<IpAddress> local;
  for (const IpAddress& address : addresses) {
    const bool is_known = std::find(local.begin(), local.end(), address) != local.end();
    if (!is_known && names.is_local(address)) local.push_back(address);
  }
  return local;
}

absl::StatusOr<BindPlan> PlanExplicit(const std::string& listen_address, const NameService& names) {
  if (listen_address == "*") return BindPlan{};
  const absl::StatusOr<std::vector<IpAddress>> addresses = names.resolve(listen_address);
  if (!addresses.ok()) return addresses.status();
  if (std::any_of(addresses->begin(), addresses->end(), [](const IpAddress& a) { return a.is_any(); })) {
    const IpAddress& any = addresses->front();
    return any.is_v6() ? BindPlan{} : BindPlan{{any}, ""};
  }
  std::vector<IpAddress> local = LocalOnes(*addresses, names);
  if (local.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--listen_address ", Quoted(listen_address),
                     " is no address of this machine: give one of its own, or * for all"));
  }
  return BindPlan{std::move(local), ""};
}

}  // namespace

bool BindPlan::is_loopback_only() const { return !addresses.empty() && AllLoopback(addresses); }

absl::StatusOr<BindPlan> PlanBind(const std::string& sched_host, const std::string& listen_address,
                                  const NameService& names) {
  if (!listen_address.empty()) return PlanExplicit(listen_address, names);
  const absl::StatusOr<std::vector<IpAddress>> addresses = names.resolve(sched_host);
  if (!addresses.ok()) {
    return BindPlan{{},
                    absl::StrCat("MS_SCHED_HOST ", Quoted(sched_host),
                                 " does not resolve here: listening on all addresses (--listen_address decides)")};
  }
  if (addresses->size() == 1 && addresses->front().is_any()) return PlanExplicit(sched_host, names);
  std::vector<IpAddress> local = LocalOnes(*addresses, names);
  if (local.empty()) {
    return BindPlan{{},
                    absl::StrCat("MS_SCHED_HOST ", Quoted(sched_host),
                                 " is no address of this machine: listening on all addresses (--listen_address "
                                 "decides)")};
  }
  const bool is_name = !IpAddress::Parse(sched_host).has_value();
  if (is_name && AllLoopback(local) && !absl::StartsWith(sched_host, "localhost")) {
    return BindPlan{{},
                    absl::StrCat("MS_SCHED_HOST ", Quoted(sched_host), " stands for ", local.front().ToString(),
                                 " here, where no other machine could connect: listening on all addresses "
                                 "(--listen_address decides)")};
  }
  return BindPlan{std::move(local), ""};
}

}  // namespace muster::scheduler
