// All nodes and slots of a run with one character each, so that a picture of 12,500 nodes with 8 slots each is a small
// answer that takes little of the core's time.
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
  uint64_t names_version = 0;  // changes with the nodes, their hosts and their ranks

  // One character for each node, in the order of NodesReply, without those that are gone.
  //   c connected   p connected, a spare   g connected, draining   d disconnected   l lost   e knows the end
  std::string nodes;
  // One character for each slot of each node.
  //   a assigned   r running   d done   f failed   s stopped   - without a rank
  std::string slots;
  std::vector<Name> names = {};  // only with_names
};

std::shared_ptr<const JobMap> MapOf(const Run& run, bool with_names);

}  // namespace muster::scheduler
