#include "scheduler/listening.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/net/net.h"
#include "common/sys/log.h"
#include "common/sys/runtime_paths.h"

namespace muster::scheduler {

absl::StatusOr<OpenPorts> OpenListeners(const SchedulerSettings& settings) {
  const absl::StatusOr<BindPlan> plan = PlanAgentsPort(settings);
  if (!plan.ok()) return plan.status();
  if (settings.tls.require_tls && !settings.tls.is_on() && !plan->is_loopback_only()) {
    return absl::FailedPreconditionError(
        "--require_tls is set, but --tls_config is not: without TLS the scheduler may listen only on a loopback "
        "address; set --tls_config or --listen_address 127.0.0.1");
  }
  if (!plan->notice.empty()) Log(Severity::kInfo, plan->notice);
  absl::StatusOr<std::vector<Listener>> listeners = OpenTcpListeners(*plan, settings.sched_port);
  if (!listeners.ok()) return listeners.status();
  OpenPorts ports;
  if (settings.heartbeat_datagrams) {
    absl::StatusOr<std::vector<UniqueFd>> datagrams = OpenDatagramSockets(*plan, listeners->front().port);
    if (datagrams.ok()) {
      ports.datagrams = *std::move(datagrams);
    } else {
      Log(Severity::kWarning, absl::StrCat("no heartbeats over UDP, only over the agents' streams, which costs more: ",
                                           std::string(datagrams.status().message()),
                                           "; free that UDP port, or set --heartbeat_datagrams=false to accept this"));
    }
  }

  const bool is_named = !settings.admin_socket.empty();
  absl::StatusOr<Listener> admin =
      OpenUnixListener(is_named ? settings.admin_socket : DefaultAdminSocket(listeners->front().port));
  if (admin.ok()) {
    listeners->push_back(*std::move(admin));
  } else if (is_named) {
    return admin.status();
  } else {
    Log(Severity::kWarning, absl::StrCat("ms-ctl can show jobs here, but not change them: ",
                                         std::string(admin.status().message()), " (--admin_socket sets another path)"));
  }
  ports.listeners = *std::move(listeners);
  return ports;
}

absl::StatusOr<BindPlan> PlanAgentsPort(const SchedulerSettings& settings) {
  return PlanBind(settings.sched_host, settings.listen_address, {ResolveHost, IsLocalAddress});
}

std::string ListenerNames(const std::vector<Listener>& listeners) {
  std::vector<std::string> names;
  for (const Listener& listener : listeners) {
    if (!listener.is_unix) names.push_back(listener.name);
  }
  return absl::StrJoin(names, " and ");
}

std::string ReachableAddress(const std::vector<Listener>& listeners) {
  for (const Listener& listener : listeners) {
    if (listener.is_unix) continue;
    const auto address = IpAddress::Parse(LocalEndOf(listener.fd.get()));
    if (address && !address->is_loopback() && !address->is_any()) return address->ToString();
  }
  return "";
}

std::string AdminSocketOf(const std::vector<Listener>& listeners) {
  for (const Listener& listener : listeners) {
    if (listener.is_unix) return listener.name;
  }
  return "";
}

}  // namespace muster::scheduler
