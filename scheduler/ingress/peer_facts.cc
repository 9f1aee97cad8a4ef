#include "scheduler/ingress/peer_facts.h"

#include "absl/strings/numbers.h"
#include "common/net/ip_address.h"

namespace muster::scheduler {

std::string PeerFacts::ToString() const {
  if (is_unix) return "the admin socket";
  return address.empty() ? "an unknown address" : JoinHostPort(address, port);
}

PeerFacts FactsOf(const std::string& peer, const CheckedClient* client, bool takes_names) {
  PeerFacts facts;
  const size_t colon = peer.rfind(':');
  uint32_t port = 0;
  const bool has_port = colon != std::string::npos && absl::SimpleAtoi(peer.substr(colon + 1), &port) && port <= 65535;
  const auto address = has_port ? IpAddress::Parse(peer.substr(0, colon)) : std::nullopt;
  if (address.has_value()) {
    facts.address = address->ToString();
    facts.port = static_cast<uint16_t>(port);
  }
  if (client == nullptr || client->shown.empty()) return facts;
  facts.certificates = client->shown;
  facts.fingerprint = client->shown.front().Fingerprint();
  if (takes_names && client->name.has_value()) {
    facts.identity = client->name->ToUri();
    facts.name = client->name;
  }
  return facts;
}

}  // namespace muster::scheduler
