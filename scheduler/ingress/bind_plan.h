// Chooses the addresses that each of the scheduler's ports listens on: the agents' (and MindSpore's) and HTTP's. Pure,
// except for the look-ups passed in.
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
  std::string notice;                // one line if it differs from MS_SCHED_HOST; may be empty

  bool is_loopback_only() const;
};

// Plans the agents' port: --listen_address if given, else MS_SCHED_HOST, which may be a service's name.
absl::StatusOr<BindPlan> PlanBind(const std::string& sched_host, const std::string& listen_address,
                                  const NameService& names);

// Plans a port with an address of its own, `host`, from the setting `setting` (--listen_address).
absl::StatusOr<BindPlan> PlanListen(const std::string& setting, const std::string& host, const NameService& names);

// Calls `listen` for each address of the plan, with the port that the first one got. Returns that port, or the first
// error. For all addresses: IPv6's any address, which accepts IPv4, too; IPv4's if the kernel has no IPv6.
absl::StatusOr<uint16_t> ListenAsPlanned(
    const BindPlan& plan, uint16_t port,
    const std::function<absl::StatusOr<uint16_t>(const IpAddress& address, uint16_t port)>& listen);

}  // namespace muster::scheduler
