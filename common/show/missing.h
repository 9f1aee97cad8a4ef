// Whom jobs wait for, for people and as JSON. Pure.
#pragma once

#include <string>
#include <vector>

#include "common/show/render.h"

namespace muster {

// Each reply has `missing`.
std::string RenderMissing(const std::vector<NodesOfJob>& jobs);
// {"jobs": [{"job_id", "run", "waiting", "missing": […], "workers_unnamed", "servers_unnamed", "refused": […]}]}
std::string MissingJson(const std::vector<NodesOfJob>& jobs);

}  // namespace muster
