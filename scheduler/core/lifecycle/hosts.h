// Decides whether the hosts of a round's members fit together (--preflight host). A pure function.
#pragma once

#include <string>
#include <vector>

#include "scheduler/core/places/round_addresses.h"
#include "scheduler/core/state/state.h"

namespace muster::scheduler {

struct HostsCheck {
  std::vector<Unreachable> unfit;     // the nodes that must not take part, and why ("its host …")
  std::vector<std::string> warnings;  // for people, one line each
  // The slow nodes that must give their places to spares (--exclude_stragglers), by their ids.
  std::vector<const Node*> stragglers;
};

// Judges only members that have sent facts about their hosts.
HostsCheck JudgeHosts(const std::vector<const Node*>& members);

}  // namespace muster::scheduler
