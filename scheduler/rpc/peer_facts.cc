#include "scheduler/rpc/peer_facts.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_replace.h"
#include "common/ip_address.h"

namespace muster::scheduler {

std::string PeerFacts::ToString() const {
  if (is_unix) return "the admin socket";
  return address.empty() ? "an unknown address" : JoinHostPort(address, port);
}

PeerFacts ParsePeer(const std::string& grpc_peer) {
  PeerFacts facts;
  if (absl::StartsWith(grpc_peer, "unix")) {
    facts.is_unix = true;
    return facts;
  }
  if (!absl::StartsWith(grpc_peer, "ipv4:") && !absl::StartsWith(grpc_peer, "ipv6:")) return facts;
  const std::string rest = absl::StrReplaceAll(grpc_peer.substr(5), {{"%5B", "["}, {"%5D", "]"}, {"%25", "%"}});
  const size_t colon = rest.rfind(':');
  uint32_t port = 0;
  if (colon == std::string::npos || !absl::SimpleAtoi(rest.substr(colon + 1), &port) || port > 65535) return facts;
  const auto address = IpAddress::Parse(rest.substr(0, colon));
  if (!address.has_value()) return facts;
  facts.address = address->ToString();
  facts.port = static_cast<uint16_t>(port);
  return facts;
}

}  // namespace muster::scheduler
