// The rules on a host's facts: one finding for each check that applies to it, in a fixed order. Pure.
#pragma once

#include <string>
#include <vector>

#include "muster/v1/types.pb.h"
#include "worker_agent/preflight/facts.h"

namespace muster::agent {

// Checks ports, backlog, MTU, space, memory, limits, clock.
std::vector<v1::HostFinding> JudgeHost(const HostFacts& facts);

// Checks the driver, the addresses of Ascend devices, and the answers of their tools. Empty: there are no devices.
std::vector<v1::HostFinding> JudgeDevices(const HostFacts& facts);

// Makes a finding; cuts its texts down to the limits of types.proto.
v1::HostFinding MakeFinding(const std::string& check, v1::HostFinding::Level level, const std::string& text,
                            const std::string& remedy = "");
v1::HostFinding Well(const std::string& check, const std::string& text);
v1::HostFinding NotChecked(const std::string& check, const std::string& why);

}  // namespace muster::agent
