// Chooses the addresses on which the scheduler's ports listen: the port for agents and MindSpore's processes, and the
// HTTP port. Pure, except for the look-ups that the caller passes in.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/net/ip_address.h"

namespace muster::scheduler {

struct NameService {
  std::function<absl::StatusOr<std::vector<IpAddress>>(const std::string& host)> resolve;
  std::function<bool(const IpAddress&)> is_local;
};

struct BindPlan {
  std::vector<IpAddress> addresses;  // empty: all addresses, IPv4 and IPv6
  std::string notice;                // a line for the log if `addresses` is not what the setting says; else empty

  bool is_loopback_only() const;
};

// Plans the agents' port. Uses --listen_address if it is set, else MS_SCHED_HOST. MS_SCHED_HOST may stand for another
// machine's address, such as that of a Kubernetes service; then the port listens on all addresses.
absl::StatusOr<BindPlan> PlanBind(const std::string& sched_host, const std::string& listen_address,
                                  const NameService& names);

// Plans a port for which the user named an address. `host`: the value of the setting named `setting`, such as
// "--listen_address".
absl::StatusOr<BindPlan> PlanListen(const std::string& setting, const std::string& host, const NameService& names);

// Calls `listen` for each address of the plan. All get the same port: `port`, or if that is 0, the port that the first
// call returns. Returns this port, or the first error. If the plan is all addresses, calls `listen` for "::", which
// accepts IPv4, too; if the kernel has no IPv6, for "0.0.0.0".
absl::StatusOr<uint16_t> ListenAsPlanned(
    const BindPlan& plan, uint16_t port,
    const std::function<absl::StatusOr<uint16_t>(const IpAddress& address, uint16_t port)>& listen);

}  // namespace muster::scheduler
