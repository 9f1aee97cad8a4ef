// Who holds a job up: ranks that are behind, and nodes that are late. Pure.
#pragma once

#include <string>
#include <vector>

#include "common/show/render.h"

namespace muster {

struct TopOfJob {
  std::string job_id;
  uint64_t run = 0;
  uint64_t fastest_step = 0;         // of all ranks
  std::vector<v1::RankStatus> slow;  // that show progress: lowest step first, then longest without change
  std::vector<v1::NodeStatus> late;  // of the job still: longest unheard first
};

// At most `lines` of each.
TopOfJob TopOf(const std::string& job_id, const v1::RanksReply& ranks, const v1::NodesReply& nodes, size_t lines);

std::string RenderTop(const std::vector<TopOfJob>& jobs);
// {"jobs": [{"job_id", "run", "slow": [{"rank", …}], "late": [{"node_id", …}]}]}
std::string TopJson(const std::vector<TopOfJob>& jobs);

}  // namespace muster
