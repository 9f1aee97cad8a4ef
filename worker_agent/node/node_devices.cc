#include "worker_agent/node/node_devices.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/sys/log.h"
#include "worker_agent/machine/machine.h"
#include "worker_agent/node/node_description.h"

namespace muster::agent {
namespace {

void WarnOfRoots(const HostRoots& roots, const std::map<std::string, std::string>& environment) {
  const auto root = environment.find("MUSTER_HOST_ROOT");
  if (root == environment.end() || root->second.empty() || roots.dev != HostRoots().dev) return;
  Log(Severity::kWarning,
      absl::StrCat("MUSTER_HOST_ROOT is ignored: users other than root can write to ", root->second));
}

}  // namespace

absl::StatusOr<NodeDevices> TakeNodeDevices(const AgentSettings& settings,
                                            const std::map<std::string, std::string>& environment) {
  NodeDevices devices;
  devices.roots = RootsFrom(environment);
  WarnOfRoots(devices.roots, environment);
  const Devices found = FindDevices(devices.roots.dev, environment);
  devices.has_ascend = found.kind == "Ascend";
  if (settings.command.empty() || settings.role != "MS_WORKER") return devices;
  absl::StatusOr<DeviceChoice> choice =
      ChooseDevices({settings.devices, SlotCount(settings, environment), settings.per_node || settings.per_job,
                     settings.local_worker_num == "auto"},
                    found);
  if (!choice.ok()) return choice.status();
  devices.choice = *std::move(choice);
  absl::StatusOr<DeviceClaims> claims =
      ClaimDevices(NumbersOf(devices.choice),
                   {devices.choice.kind, devices.roots.dev, settings.job_id, Clock::System().Read().wall.unix_ms});
  if (!claims.ok()) return claims.status();
  devices.claims = *std::move(claims);
  for (const std::string& warning : devices.claims.warnings) Log(Severity::kWarning, warning);
  if (!devices.choice.notice.empty()) Log(Severity::kInfo, devices.choice.notice);
  return devices;
}

std::vector<uint32_t> UsedDevices(const AgentSettings& settings, const std::map<std::string, std::string>& environment,
                                  const NodeDevices& devices) {
  if (settings.devices == "none" || settings.role != "MS_WORKER") return {};
  return DevicesInUse(devices.choice, FindDevices(devices.roots.dev, environment), SlotCount(settings, environment),
                      settings.per_node || settings.per_job);
}

KernelLog OpenKernelLog(const AgentSettings& settings, const std::map<std::string, std::string>& environment,
                        const NodeDevices& devices) {
  if (FindDevices(devices.roots.dev, environment).kind != "NVIDIA") return {};
  const std::vector<uint32_t> used = UsedDevices(settings, environment, devices);
  std::map<std::string, uint32_t> by_address = NvidiaDevicesByAddress(devices.roots);
  std::erase_if(by_address,
                [&used](const auto& one) { return std::find(used.begin(), used.end(), one.second) == used.end(); });
  return KernelLog::Open(devices.roots, std::move(by_address));
}

}  // namespace muster::agent
