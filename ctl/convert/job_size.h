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
  bool is_by_node = false;       // processes are dealt out host by host
  bool names_hosts = false;      // several hosts: no machine may train alone
};

// Computes nodes, processes per node and in all, and the hosts used, from what the line gives. Without `is_auto` all
// three numbers are then known. Returns the error; empty: none.
std::string SettleSize(const Launcher& launcher, JobSize& size, std::vector<std::string>& notes);

}  // namespace muster::ctl
