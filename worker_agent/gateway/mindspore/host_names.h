// The host names that MindSpore is told, in rank order.
//
// MindSpore counts the ranks that have its own host name to find its local rank, so equal names must mean one machine.
// Machines are told apart by Muster (see docs/frameworks.md), not by name: every rank of one machine gets one name,
// and a second machine of the same name gets another one, "name~<its NODE_RANK>".
#pragma once

#include <string>
#include <vector>

#include "muster/v1/rendezvous.pb.h"

namespace muster::agent {

// One name for each rank of `role`. The ranks of machine `own_machine` are `own_name` for sure.
std::vector<std::string> NamesOfRanks(const v1::PeerList& peers, v1::Role role, uint32_t own_machine,
                                      const std::string& own_name);

}  // namespace muster::agent
