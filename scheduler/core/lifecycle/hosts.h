// Decides whether the hosts of a round's members fit together (--preflight host). A pure function.
#pragma once

#include <string>
#include <vector>

#include "scheduler/core/places/round_addresses.h"
#include "scheduler/core/state/state.h"

namespace muster::scheduler {

struct HostsCheck {
  std::vector<Unreachable> unfit;       // the nodes that must not take part, and why ("its host …")
  std::vector<std::string> warnings;    // for people, one line each
  std::vector<const Node*> slow;        // by their scores of --node_check
  std::vector<const Node*> stragglers;  // those of them that give their places to spares (--exclude_stragglers)
};

// Judges only members that have sent facts about their hosts.
HostsCheck JudgeHosts(const std::vector<const Node*>& members);

}  // namespace muster::scheduler
