// Scripts and launchers that are started once for each node compute ranks by a formula:
// node_rank × processes of the node + local_rank.
// This checks whether the formula gives this job's ranks. Pure; the table is in rank_formula.cc.
#pragma once

#include <string>

#include "muster/v1/rendezvous.pb.h"

namespace muster::agent {

// Returns a warning for people, with the remedy; empty if the formula gives the right ranks. `peers` is of the same
// round; if it is null, only this node's own ranks are checked. `is_one_for_node`: with --per_node the agent starts the
// command once.
std::string RankFormulaWarning(const v1::Assignment& assignment, const v1::PeerList* peers, bool is_one_for_node);

}  // namespace muster::agent
