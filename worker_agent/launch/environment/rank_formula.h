// Checks the formula by which scripts and launchers that are started once for a node count their ranks themselves,
// node_rank × processes of the node + local_rank, against the ranks of this job. Pure; the table is in rank_formula.cc.
#pragma once

#include <string>

#include "muster/v1/rendezvous.pb.h"

namespace muster::agent {

// Returns a warning for people, with the remedy; empty where the formula holds. `peers` is of the same round; null: not
// known, and only the node's own ranks are checked. With `is_one_for_node` (--per_node) the command is started once for
// its agent.
std::string RankFormulaWarning(const v1::Assignment& assignment, const v1::PeerList* peers, bool is_one_for_node);

}  // namespace muster::agent
