#include "worker_agent/launch/peers.h"

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/sha256.h"

namespace muster::agent {

absl::StatusOr<v1::PeerList> CheckedPeerList(const std::string& serialised, const std::string& job_id,
                                             const v1::DesiredState& desired) {
  if (serialised.size() > kMaxPeerListBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the peer list has ", serialised.size(), " bytes; at most ", kMaxPeerListBytes, " are allowed"));
  }
  const std::string digest = Sha256(serialised);
  if (digest != desired.peers_digest()) {
    return absl::DataLossError(
        absl::StrCat("the peer list of round ", desired.round(), " has the digest ",
                     absl::BytesToHexString(digest).substr(0, 16), "…, but the scheduler announced ",
                     absl::BytesToHexString(desired.peers_digest()).substr(0, 16), "…: it is not this round's"));
  }
  v1::PeerList peers;
  if (!peers.ParseFromString(serialised)) return absl::DataLossError("the peer list can't be parsed");
  if (peers.job_id() != job_id || peers.run() != desired.run() || peers.round() != desired.round()) {
    return absl::DataLossError(absl::StrCat("the peer list is that of job ", peers.job_id(), ", run ", peers.run(),
                                            ", round ", peers.round(), " and not of job ", job_id, ", run ",
                                            desired.run(), ", round ", desired.round()));
  }
  return peers;
}

}  // namespace muster::agent
