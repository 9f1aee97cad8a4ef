// Which addresses the scheduler listens on. Pure but for the look-ups that it is given.
#pragma once

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
  std::string notice;                // one line when it is not what MS_SCHED_HOST says; may be empty

  bool is_loopback_only() const;
};

// --listen_address decides if given (an error when it isn't this machine's). Else MS_SCHED_HOST: its local addresses;
// all addresses, and a notice, when it has none (it may be a service's name), or when a name other than localhost
// stands for the loopback only (Debian's 127.0.1.1), where no other machine would find the scheduler.
absl::StatusOr<BindPlan> PlanBind(const std::string& sched_host, const std::string& listen_address,
                                  const NameService& names);

}  // namespace muster::scheduler
