#include "worker_agent/launch/peers.h"

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/sha256.h"
#include "common/net/ip_address.h"

namespace muster::agent {
namespace {

RingPeer FromMessage(const v1::RingNeighbour& neighbour) {
  return {.rank = neighbour.rank(),
          .node_id = neighbour.node_id(),
          .host = neighbour.host_name(),
          .address = AddressText(neighbour.address()),
          .port = neighbour.port(),
          .fingerprint = absl::BytesToHexString(neighbour.certificate_fingerprint())};
}

std::optional<RingPeer> OwnRank(const ClusterFileInput& input, uint32_t rank) {
  const v1::Assignment& assignment = input.desired->assignment();
  for (int i = 0; i < assignment.slots_size(); ++i) {
    if (assignment.slots(i).rank() != rank) continue;
    const auto index = static_cast<size_t>(i);
    return RingPeer{.rank = rank,
                    .node_id = input.node_id,
                    .host = input.host_name,
                    .address = input.own_address,
                    .port = index < input.offers.size() ? input.offers[index].ring_port() : 0,
                    .fingerprint = absl::BytesToHexString(assignment.certificate_fingerprint())};
  }
  return std::nullopt;
}

}  // namespace

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

std::optional<RingPeer> PreviousInRing(const ClusterFileInput& input, int slot) {
  const v1::SlotAssignment& own = input.desired->assignment().slots(slot);
  if (own.has_previous()) return FromMessage(own.previous());
  return OwnRank(input, own.rank() > 0 ? own.rank() - 1 : RingSize(input.desired->assignment()) - 1);
}

std::optional<RingPeer> NextInRing(const ClusterFileInput& input, int slot) {
  const v1::SlotAssignment& own = input.desired->assignment().slots(slot);
  if (own.has_next()) return FromMessage(own.next());
  const uint32_t next = own.rank() + 1;
  return OwnRank(input, next < RingSize(input.desired->assignment()) ? next : 0);
}

uint32_t RingSize(const v1::Assignment& assignment) {
  return assignment.role() == v1::ROLE_SERVER ? assignment.server_num() : assignment.worker_num();
}

std::string AddressText(const std::string& bytes) {
  const auto address = IpAddress::FromBytes(bytes);
  return address ? address->ToString() : "";
}

}  // namespace muster::agent
