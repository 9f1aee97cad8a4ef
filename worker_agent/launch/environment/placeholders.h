// Placeholders in the arguments of the training command: {rank}, {world_size} and so on.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace muster::agent {

// Name without braces → value. A launch fills in: rank, world_size, node_rank, nnodes, local_rank, local_world_size,
// master_addr, master_port, master (HOST:PORT), nproc_per_node, job_id, round, role, node_id, restart_count.
using Placeholders = std::map<std::string, std::string>;

// Replaces every {name} with a name in `values`; {{name}} becomes the literal {name}. All other text stays as it is,
// since arguments may contain braces of other kinds (JSON, format strings): an unknown {word}, a lone brace, "{ rank
// }". Does not search inserted values for placeholders. Puts an IPv6 address in brackets if a colon and a port follow,
// so that tcp://{master_addr}:{master_port} becomes a valid URL; the port begins with a digit or a placeholder.
std::string FillPlaceholders(const std::string& text, const Placeholders& values);

std::vector<std::string> FillPlaceholders(const std::vector<std::string>& arguments, const Placeholders& values);

}  // namespace muster::agent
