// Detailed views of jobs, for people and as JSON. Pure.
#pragma once

#include <string>
#include <vector>

#include "common/show/render.h"

namespace muster {

// ---- missing.cc: the nodes that jobs wait for.

// Returns text for people. Each reply must have `missing`.
std::string RenderMissing(const std::vector<NodesOfJob>& jobs);
// {"jobs": [{"job_id", "run", "waiting", "missing": […], "workers_unnamed", "servers_unnamed", "refused": […]}]}
std::string MissingJson(const std::vector<NodesOfJob>& jobs);

// ---- render_hosts.cc: the results of --preflight host and command, for `ms-ctl preflight`.

// Returns a table of nodes and checks, then a line for each warning and error of one node or between nodes.
std::string RenderHosts(const std::vector<NodesOfJob>& jobs);

// {"jobs": [{"job_id", "run", "nodes": [{"node_id", "host_name", "facts": {…}, "checks": [{"check", "level", "text",
// "remedy"}]}], "between_nodes": [{"check", "level", "text", "remedy", "node_ids"}]}]}
// level: ok, warning, error, not_checked.
std::string HostsJson(const std::vector<NodesOfJob>& jobs);

// True if any finding is an error.
bool HasHostErrors(const std::vector<NodesOfJob>& jobs);

// ---- top.cc: the ranks and nodes that slow a job down: ranks that are behind, and nodes that are silent for long.

struct TopOfJob {
  std::string job_id;
  uint64_t run = 0;
  uint64_t fastest_step = 0;         // of all ranks
  std::vector<v1::RankStatus> slow;  // ranks that report progress: lowest step first, then the one unchanged for
                                     // longest
  std::vector<v1::NodeStatus> late;  // nodes still in the job: the one silent for longest first
};

// Returns at most `lines` ranks and `lines` nodes.
TopOfJob TopOf(const std::string& job_id, const v1::RanksReply& ranks, const v1::NodesReply& nodes, size_t lines);

std::string RenderTop(const std::vector<TopOfJob>& jobs);
// {"jobs": [{"job_id", "run", "slow": [{"rank", …}], "late": [{"node_id", …}]}]}
std::string TopJson(const std::vector<TopOfJob>& jobs);

}  // namespace muster
