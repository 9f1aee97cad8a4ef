#include "worker_agent/launch/ring_peer.h"

#include "absl/strings/escaping.h"
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
