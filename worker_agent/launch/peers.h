// The peer list of a round, as it came from anywhere: believed only when its digest is the assignment's.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "muster/v1/rendezvous.pb.h"

namespace muster::agent {

// Parses a serialised PeerList. An error when its SHA-256 is not desired.peers_digest, when it is of another job, run
// or round, or when it is too large.
absl::StatusOr<v1::PeerList> CheckedPeerList(const std::string& serialised, const std::string& job_id,
                                             const v1::DesiredState& desired);

}  // namespace muster::agent
