// The size of the job that another launcher's line asks for. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ctl/convert/count.h"
#include "ctl/convert/hosts.h"
#include "ctl/convert/launchers.h"

namespace muster::ctl {

struct JobSize {
  std::optional<Count> processes, per_node, nodes;
  bool is_auto = false;          // per node: one for each device
  std::vector<HostSlots> hosts;  // in their order
  bool is_by_node = false;       // processes go round the hosts
  bool names_hosts = false;      // several: no machine may train on its own
};

// What the line says → nodes, processes of each and of all, and the hosts that are used. Without `is_auto` all three
// are known then. Returns what is wrong; empty: nothing.
std::string SettleSize(const Launcher& launcher, JobSize& size, std::vector<std::string>& notes);

}  // namespace muster::ctl
