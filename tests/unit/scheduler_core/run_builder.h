// Makes runs and nodes for the tables: nodes differ only in what a test is about.
#pragma once

#include <optional>
#include <string>

#include "scheduler/core/context/evolve.h"

namespace muster::scheduler {

inline MonotonicTime At(double seconds) { return MonotonicTime::FromNanoseconds(0) + absl::Seconds(seconds); }

struct NodeSpec {
  std::string id;
  int slots = 1;
  std::string host = "";     // else "host-<id>"
  std::string machine = "";  // else the host
  std::string address = "10.0.0.1";
  v1::Role role = v1::ROLE_WORKER;
};

inline v1::NodeInfo InfoOf(const NodeSpec& spec) {
  v1::NodeInfo info;
  info.set_role(spec.role);
  info.set_host_name(spec.host.empty() ? "host-" + spec.id : spec.host);
  info.set_machine_id(spec.machine.empty() ? info.host_name() : spec.machine);
  info.set_address(spec.address);
  for (int i = 0; i < spec.slots; ++i) info.add_slots()->set_ring_port(static_cast<uint32_t>(7000 + i));
  return info;
}

inline Run RunOf(uint32_t workers, uint32_t servers = 0) {
  Run run;
  Edit(run).job_id = "default";
  Edit(run).number = 1;
  if (workers > 0) Edit(run).settings.set_worker_num(workers);
  if (servers > 0) Edit(run).settings.set_server_num(servers);
  return run;
}

// Adds a connected node.
inline Node& AddNode(Run& run, const NodeSpec& spec) {
  Node& node = NodesOf(run)[spec.id];
  Edit(node).id = spec.id;
  Edit(node).incarnation = run.nodes.size();
  Edit(node).info = InfoOf(spec);
  Edit(node).slots.resize(static_cast<size_t>(spec.slots));
  node.stream = run.nodes.size();
  node.was_seen = true;
  Edit(run).slot_counts.Add(Edit(node).id, Edit(node).info, false);
  return node;
}

inline Node& AddSpare(Run& run, const NodeSpec& spec) {
  Node& node = AddNode(run, spec);
  Edit(run).slot_counts.Remove(Edit(node).id, Edit(node).info, false);
  Edit(node).is_spare = true;
  Edit(run).slot_counts.Add(Edit(node).id, Edit(node).info, true);
  return node;
}

inline v1::Join JoinOf(const NodeSpec& spec) {
  v1::Join join;
  join.set_job_id("default");
  join.set_node_id(spec.id);
  *join.mutable_node() = InfoOf(spec);
  return join;
}

inline std::string TextOf(const std::optional<v1::Refusal>& refusal) { return refusal ? refusal->text() : "welcome"; }

}  // namespace muster::scheduler
