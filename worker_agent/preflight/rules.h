// Judges a host's facts. Each check that applies to the host gives one finding; their order is fixed. Pure.
#pragma once

#include <string>
#include <vector>

#include "muster/v1/types.pb.h"
#include "worker_agent/preflight/facts.h"

namespace muster::agent {

// Checks ports, backlog, MTU, space, memory, limits, clock.
std::vector<v1::HostFinding> JudgeHost(const HostFacts& facts);

// Checks the driver of the devices. For Ascend devices, also checks the addresses and what hccn_tool reports. Empty:
// there are no devices.
std::vector<v1::HostFinding> JudgeDevices(const HostFacts& facts);

// Makes a finding; cuts its texts down to the limits of types.proto.
v1::HostFinding MakeFinding(const std::string& check, v1::HostFinding::Level level, const std::string& text,
                            const std::string& remedy = "");
// Make a finding that says: all is well, or the check could not be made.
v1::HostFinding Well(const std::string& check, const std::string& text);
v1::HostFinding NotChecked(const std::string& check, const std::string& why);

}  // namespace muster::agent
