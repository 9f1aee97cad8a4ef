// The states of all nodes and slots of a run, with one character for each. So the data for a picture of 12,500 nodes
// with 8 slots each is small, and the core makes it quickly.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/core/state/state.h"

namespace muster::scheduler {

struct JobMap {
  struct Name {
    std::string node_id, host_name, label_path;
    bool is_server = false;
    uint32_t slots = 0;
    std::vector<std::pair<uint32_t, uint32_t>> ranks = {};  // first rank and count, in the order of slots
  };

  std::string job_id;
  uint64_t run = 0;
  uint32_t round = 0;
  uint64_t names_version = 0;  // changes whenever the nodes, their hosts or their ranks change

  // One character for each node, in the order of NodesReply, without the nodes that have left the run.
  //   c connected   p connected, a spare   g connected, draining   d disconnected   l lost   e knows the end
  std::string nodes;
  // One character for each slot of each node.
  //   a assigned   r running   d done   f failed   s stopped   - without a rank
  std::string slots;
  std::vector<Name> names = {};  // one for each node; empty unless with_names
};

std::shared_ptr<const JobMap> MapOf(const Run& run, bool with_names);

}  // namespace muster::scheduler
