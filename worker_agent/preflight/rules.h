// What the facts of a host come to: one finding for each check that applies to it, in a fixed order. Pure.
#pragma once

#include <string>
#include <vector>

#include "muster/v1/types.pb.h"
#include "worker_agent/preflight/facts.h"

namespace muster::agent {

// Ports, backlog, MTU, space, memory, limits, clock.
std::vector<v1::HostFinding> JudgeHost(const HostFacts& facts);

// Driver, addresses of Ascend devices, and what their tools say of them. Empty: there are no devices.
std::vector<v1::HostFinding> JudgeDevices(const HostFacts& facts);

// Cuts texts down to what may be told (types.proto).
v1::HostFinding MakeFinding(const std::string& check, v1::HostFinding::Level level, const std::string& text,
                            const std::string& remedy = "");
v1::HostFinding Well(const std::string& check, const std::string& text);
v1::HostFinding NotChecked(const std::string& check, const std::string& why);

}  // namespace muster::agent
