// The node's place in the cluster: what the last welcome said, and each join shows again.
#pragma once

#include <cstdint>
#include <string>

#include "muster/v1/rendezvous.pb.h"

namespace muster::agent {

struct Seat {
  std::string cluster_id;
  uint64_t run = 0;  // 0: never welcomed
  int64_t run_opened_unix_ms = 0;
  std::string node_id;
  uint64_t term = 0;

  bool IsWelcomed() const { return run != 0; }
  void Take(const v1::SchedulerMessage& welcome) {
    cluster_id = welcome.welcome().cluster_id();
    run = welcome.welcome().run();
    run_opened_unix_ms = welcome.welcome().run_opened_unix_ms();
    node_id = welcome.welcome().node_id();
    term = welcome.term();
  }
  // Of another run, or of another cluster's.
  bool IsOtherRun(const v1::Welcome& welcome) const {
    return welcome.run() != run || welcome.cluster_id() != cluster_id;
  }
};

}  // namespace muster::agent
