// What `ms-ctl preflight` prints: what the checks of the hosts (--preflight host) came to. Pure.
#pragma once

#include <string>
#include <vector>

#include "common/show/render.h"

namespace muster {

// A table of nodes × checks, then a line for each warning and error, of one node and between nodes.
std::string RenderHosts(const std::vector<NodesOfJob>& jobs);

// {"jobs": [{"job_id", "run", "nodes": [{"node_id", "host_name", "facts": {…}, "checks": [{"check", "level", "text",
// "remedy"}]}], "between_nodes": [{"check", "level", "text", "remedy", "node_ids"}]}]}
// level: ok, warning, error, not_checked.
std::string HostsJson(const std::vector<NodesOfJob>& jobs);

// Whether any finding is an error.
bool HasHostErrors(const std::vector<NodesOfJob>& jobs);

}  // namespace muster
