// The scheduler's questions where this node's processes stand. A gathering takes seconds: there is one at a time, and
// of the queries that come meanwhile the last one is kept.
#pragma once

#include <cstdint>
#include <optional>

#include "worker_agent/core/connection/connector.h"
#include "worker_agent/core/events.h"
#include "worker_agent/core/processes.h"

namespace muster::agent {

class StackQueries {
 public:
  // `slots`: how many this node has. The others outlive this.
  StackQueries(const Connector& connector, const Processes& processes, int slots)
      : connector_(connector), processes_(processes), slots_(static_cast<uint32_t>(slots)) {}

  // A query came over the open stream.
  void OnQuery(const v1::StackQuery& query, Effects& out);
  // The gathering has ended. True if the asking stream is still open: with another one the query was given up.
  bool OnGathered();
  // After OnGathered: begins with the query that has waited, if there is one.
  void GatherNext(Effects& out);
  // The scheduler still waits for the answer: it knows the node, not the stream.
  void OnStreamReplaced(uint64_t from, uint64_t to);

  void CheckInvariants() const;

 private:
  const Connector& connector_;
  const Processes& processes_;
  const uint32_t slots_;
  uint64_t gathering_for_ = 0;  // connect_seq of the stream that the one under way was asked on; 0: none
  std::optional<v1::StackQuery> waiting_;
  uint64_t waiting_for_ = 0;
};

}  // namespace muster::agent
