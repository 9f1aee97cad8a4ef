// Placeholders in the arguments of the training command: {rank}, {world_size} and so on.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace muster::agent {

// Name without braces → value. A launch fills in: rank, world_size, node_rank, nnodes, local_rank, local_world_size,
// master_addr, master_port, master (HOST:PORT), nproc_per_node, job_id, round, role, node_id, restart_count.
using Placeholders = std::map<std::string, std::string>;

// Replaces every {name} of a known name. All other text stays as it is, since training scripts have braces of their own
// (JSON, format strings): an unknown {word}, a lone brace, "{ rank }". {{name}} of a known name becomes the literal
// {name}. A value is not searched again. An IPv6 address directly before a colon and a port (a digit, or another
// placeholder) gets brackets, as in the URL tcp://{master_addr}:{master_port}: without them it would be no URL.
std::string FillPlaceholders(const std::string& text, const Placeholders& values);

std::vector<std::string> FillPlaceholders(const std::vector<std::string>& arguments, const Placeholders& values);

}  // namespace muster::agent
