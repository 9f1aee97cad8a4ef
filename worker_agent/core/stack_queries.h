// Handles the scheduler's queries for the stacks of this node's processes. Gathering stacks takes seconds, so there is
// one gathering at a time. Of the queries that come during it, only the last one is kept.
#pragma once

#include <cstdint>
#include <optional>

#include "worker_agent/core/connection/connector.h"
#include "worker_agent/core/events.h"
#include "worker_agent/core/processes.h"

namespace muster::agent {

class StackQueries {
 public:
  // `slots`: how many this node has. The other arguments outlive this.
  StackQueries(const Connector& connector, const Processes& processes, int slots)
      : connector_(connector), processes_(processes), slots_(static_cast<uint32_t>(slots)) {}

  // A query came over the open stream.
  void OnQuery(const v1::StackQuery& query, Effects& out);
  // The gathering has ended. Returns true if the stream that asked is still open; otherwise the scheduler has given up
  // the query.
  bool OnGathered();
  // Must be called after OnGathered: begins the query that has waited, if there is one.
  void GatherNext(Effects& out);
  // Moves the queries from a stream to its replacement. The scheduler still waits for the answers, since it asks the
  // node and not the stream.
  void OnStreamReplaced(uint64_t from, uint64_t to);

  void CheckInvariants() const;

 private:
  const Connector& connector_;
  const Processes& processes_;
  const uint32_t slots_;
  uint64_t gathering_for_ = 0;  // connect_seq of the stream that asked for the present gathering; 0: there is none
  std::optional<v1::StackQuery> waiting_;
  uint64_t waiting_for_ = 0;
};

}  // namespace muster::agent
