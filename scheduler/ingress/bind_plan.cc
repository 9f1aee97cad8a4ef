// The addresses on which a port listens, if its host comes from --listen_address, and if it comes from MS_SCHED_HOST:
//
// the host                                      --listen_address             MS_SCHED_HOST
//
// is * or ::                                    all addresses                all addresses
// is 0.0.0.0                                    all of IPv4                  all of IPv4
// stands for addresses of this machine          these addresses              these addresses
// is a name that means only the loopback, as
// on Debian (127.0.1.1), except localhost       all, with a notice           all, with a notice
// stands for other machines' addresses          an error                     all, with a notice
// does not resolve                              an error                     all, with a notice
#include "scheduler/ingress/bind_plan.h"

#include <algorithm>
#include <optional>

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

// Returns the plan to listen on all addresses, if `host` is a name that means only loopback addresses here; none:
// listen on `local`. `remedy` says, in the plan's notice, how to choose other addresses.
std::optional<BindPlan> BeyondLoopback(const std::string& setting, const std::string& host,
                                       const std::vector<IpAddress>& local, absl::string_view remedy) {
  const bool is_name = !IpAddress::Parse(host).has_value();
  if (!is_name || !AllLoopback(local) || absl::StartsWith(host, "localhost")) return std::nullopt;
  return BindPlan{{},
                  absl::StrCat(setting, " ", Quoted(host), " means ", local.front().ToString(),
                               " here, where no other machine could connect: listening on all addresses; ", remedy)};
}

}  // namespace

bool BindPlan::is_loopback_only() const { return !addresses.empty() && AllLoopback(addresses); }

absl::StatusOr<BindPlan> PlanBind(const std::string& sched_host, const std::string& listen_address,
                                  const NameService& names) {
  if (!listen_address.empty()) return PlanListen("--listen_address", listen_address, names);
  const absl::StatusOr<std::vector<IpAddress>> addresses = names.resolve(sched_host);
  if (!addresses.ok()) {
    return BindPlan{
        {},
        absl::StrCat("MS_SCHED_HOST ", Quoted(sched_host),
                     absl::IsInvalidArgument(addresses.status()) ? " has no address here that agents could use"
                                                                 : " does not resolve here",
                     ": listening on all addresses (to choose one, set --listen_address)")};
  }
  if (addresses->size() == 1 && addresses->front().is_any()) return PlanListen("MS_SCHED_HOST", sched_host, names);
  std::vector<IpAddress> local = LocalOnes(*addresses, names);
  if (local.empty()) {
    return BindPlan{
        {},
        absl::StrCat(
            "MS_SCHED_HOST ", Quoted(sched_host),
            " is no address of this machine: listening on all addresses (to choose one, set --listen_address)")};
  }
  if (auto plan = BeyondLoopback("MS_SCHED_HOST", sched_host, local, "to choose one, set --listen_address"))
    return *std::move(plan);
  return BindPlan{std::move(local), ""};
}

absl::StatusOr<BindPlan> PlanListen(const std::string& setting, const std::string& host, const NameService& names) {
  if (host == "*") return BindPlan{};
  const absl::StatusOr<std::vector<IpAddress>> addresses = names.resolve(host);
  if (!addresses.ok()) {
    return absl::Status(addresses.status().code(), absl::StrCat(setting, ": ", addresses.status().message()));
  }
  if (std::any_of(addresses->begin(), addresses->end(), [](const IpAddress& a) { return a.is_any(); })) {
    const IpAddress& any = addresses->front();
    return any.is_v6() ? BindPlan{} : BindPlan{{any}, ""};
  }
  std::vector<IpAddress> local = LocalOnes(*addresses, names);
  if (local.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(setting, " ", Quoted(host), " is no address of this machine: give one of its own, or :: for all"));
  }
  const std::string remedy = absl::StrCat("write ", local.front().ToString(), " to listen on the loopback only");
  if (auto plan = BeyondLoopback(setting, host, local, remedy)) return *std::move(plan);
  return BindPlan{std::move(local), ""};
}

absl::StatusOr<uint16_t> ListenAsPlanned(
    const BindPlan& plan, uint16_t port,
    const std::function<absl::StatusOr<uint16_t>(const IpAddress& address, uint16_t port)>& listen) {
  if (plan.addresses.empty()) {
    absl::StatusOr<uint16_t> bound = listen(*IpAddress::Parse("::"), port);
    return absl::IsUnavailable(bound.status()) ? listen(*IpAddress::Parse("0.0.0.0"), port) : bound;
  }
  for (const IpAddress& address : plan.addresses) {
    const absl::StatusOr<uint16_t> bound = listen(address, port);
    if (!bound.ok()) return bound;
    port = *bound;
  }
  return port;
}

}  // namespace muster::scheduler
