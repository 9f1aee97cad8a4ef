// What the scheduler itself says of the settings that the nodes of a job agree on.
#pragma once

#include <map>
#include <string>

#include "muster/v1/types.pb.h"

namespace muster::scheduler {

struct OwnSettings {
  v1::JobSettings rules = {};     // a node that says otherwise is refused
  v1::JobSettings defaults = {};  // for nodes that say nothing: a node that says otherwise is right
  // Where a value came from, for messages: "worker_num" → "--worker_num", "muster.conf:3" or "MS_WORKER_NUM".
  std::map<std::string, std::string> sources = {};
};

}  // namespace muster::scheduler
