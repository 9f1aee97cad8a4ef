// MS_CLUSTER_FILE: a JSON file that describes the cluster to the training processes of a node. A new one for each
// round.
//
//   {"schema": "muster.cluster/1", "job_id": "default", "run": 1, "round": 1, "restart_count": 0, "role": "worker",
//    "world_size": 4, "server_num": 0, "nnodes": 2, "node_id": "a-1", "node_rank": 0,
//    "local_ranks": [{"rank": 0, "local_rank": 0, "device_id": "0",
//                     "ring": {"previous": {"rank": 3, "node_id": "b-1", "host": "b", "address": "10.0.0.2",
//                                           "port": 40001, "fingerprint": ""},
//                              "next": {…}}}],
//    "master": {"address": "10.0.0.1", "port": 40000},
//    "peers": [{"rank": 0, "role": "worker", "node_id": "a-1", "node_rank": 0, "host": "a", "address": "10.0.0.1",
//               "local_rank": 0, "ring_port": 40002, "device_id": "0", "device_address": "",
//               "certificate_fingerprint": ""}],
//    "peers_complete": true}
//
// world_size counts the ranks of the node's own role. Readers must accept members that they don't know; a change that
// would break them gets a new schema.
//
// In a round of more than 1,024 ranks, "peers" has only the node's own ranks and their neighbours in the ring, and
// peers_complete is false. A neighbour on another node then lacks node_rank, local_rank, device_id and
// device_address, which this node does not know.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "muster/v1/rendezvous.pb.h"

namespace muster::agent {

struct ClusterFileInput {
  const v1::DesiredState* desired = nullptr;  // must have an assignment
  const v1::PeerList* peers = nullptr;        // from CheckedPeerList; null: more ranks than kMaxRanksInClusterFile
  std::string job_id;
  std::string node_id;
  std::string host_name;
  std::string own_address;            // numeric
  std::vector<v1::SlotOffer> offers;  // of this node, by slot
};

// Returns the text of the file; --print_assignment prints it.
std::string ClusterFileText(const ClusterFileInput& input);

// Writes the file atomically. Its mode is 0644, so that a process that runs as another user can read it if the folder
// allows it.
absl::Status WriteClusterFile(const std::string& path, const ClusterFileInput& input);

}  // namespace muster::agent
