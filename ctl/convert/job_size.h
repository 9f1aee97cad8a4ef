// Computes the size of the job that another launcher's line asks for. Pure.
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
  bool is_auto = false;          // a node has one process for each of its devices
  std::vector<HostSlots> hosts;  // in the order of the line or file
  bool is_by_node = false;       // consecutive processes go to different hosts, in turn
  bool names_hosts = false;      // the line names several hosts, so no machine may train alone
};

// Completes `size`: computes the number of nodes, the processes of each node, all processes, and the hosts that are
// used. With `is_auto` the two numbers of processes may stay unknown. Returns the error; empty: none.
std::string SettleSize(const Launcher& launcher, JobSize& size, std::vector<std::string>& notes);

}  // namespace muster::ctl
