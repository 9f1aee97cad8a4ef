// PyTorch's store of the job: in the agent of rank 0's node, at MASTER_PORT, with an empty one for each round. All
// processes are clients (TORCHELASTIC_USE_AGENT_STORE=True), so none has to bind a port, and none takes it along when
// it dies. The agents of other nodes only tell their processes so, or, with relays, speak for them: their processes
// then find the store at their own machine's loopback.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/base/clock.h"
#include "common/net/ip_address.h"
#include "common/net/ip_network.h"
#include "common/tls/peer/peer_name.h"
#include "common/tls/tls_store.h"
#include "muster/v1/types.pb.h"
#include "worker_agent/gateway/chassis/round_gateway.h"
#include "worker_agent/gateway/torch_store/relay/hello.h"
#include "worker_agent/gateway/torch_store/server.h"

namespace muster::agent {

// Whom the store serves: connections of processes, and links of agents (--torch_store_relay). TCPStore knows no
// password, so without links an address is all that tells a process of the round from a stranger. Pure.
class AllowedPeers {
 public:
  // The machines of the round, by all addresses that they have told, and `networks`.
  AllowedPeers(const v1::PeerList& peers, std::vector<IpNetwork> networks);

  // Besides this machine's own.
  bool Contains(const IpAddress& address) const;

 private:
  std::set<IpAddress> addresses_;
  std::vector<IpNetwork> networks_;
};

// Why a process of that address is not served, with what to do.
std::string WhyNotInRound(const IpAddress& address);

// The links of the round's agents.
class LinkRules {
 public:
  // `networks`: addresses of agents that their machines don't know themselves (NAT).
  LinkRules(const v1::PeerList& peers, std::vector<IpNetwork> networks);

  // Why the link that begins so is not served; empty: it is. `is_here`: it comes from this machine.
  std::string WhyNot(const torch_store::LinkHello& hello, const IpAddress& from, bool is_here) const;
  // How many ranks a node of the round has; 0: it is none.
  size_t RanksOf(const std::string& node) const;

 private:
  struct Node {
    std::set<IpAddress> addresses;
    size_t ranks = 0;
    bool is_here = false;  // on the machine of rank 0
  };
  const std::string job_;
  const uint64_t run_;
  const uint32_t round_;
  const std::vector<IpNetwork> networks_;
  std::map<std::string, Node> nodes_;
};

// Why a certificate with this name is not that of `node`'s agent; empty: it is, or names don't count (none).
std::string WhyNotNode(const std::optional<PeerName>& name, const std::string& job, const std::string& node);

struct TorchStoreOptions {
  std::string job_id;
  bool is_relay_asked = false;
  bool is_plain_port_refused = false;   // with --require_tls, unless --torch_store_relay=false asks for it
  std::shared_ptr<const TlsStore> tls;  // of links; null: they are plain
  uint16_t wanted_port = 0;             // where this machine's processes want a relay; 0: they take any port
  std::vector<IpNetwork> networks;      // served besides the machines of the round
  std::vector<uint16_t> script_ports;   // see PortsOfScript
};

// What serves a round here; nothing where the store is elsewhere and without relays.
struct TorchStoreServers {
  std::unique_ptr<torch_store::Service> store;
  std::unique_ptr<torch_store::Service> relay;
  uint32_t local_port = 0;  // with relays: where this machine's processes find it
};

class TorchStoreGateway final : public RoundGateway<TorchStoreServers> {
 public:
  // `clock` must outlive this.
  TorchStoreGateway(TorchStoreOptions options, const Clock& clock) : options_(std::move(options)), clock_(clock) {}

  // On rank 0's node the store listens from then on.
  absl::Status Begin(const GatewayRound& round) override;
  void AddTo(EnvironmentInput& input) const override;
  // With relays nobody else can serve the store. Where a plain port is refused, nobody else may.
  bool IsNeeded(const GatewayRound& round) const override {
    return !round.assignment.torch_store_node().empty() || (options_.is_plain_port_refused && LacksRelays(round));
  }
  void Over(uint64_t run, uint32_t round) override;

 private:
  // This agent is to serve the store, and has asked for relays in vain.
  bool LacksRelays(const GatewayRound& round) const;
  absl::StatusOr<std::unique_ptr<TorchStoreServers>> ServerFor(const GatewayRound& round) override;
  absl::Status Serve(const GatewayRound& round, TorchStoreServers& servers) const;
  torch_store::LinksOptions LinksFor(const GatewayRound& round) const;
  absl::Status ServeByRelay(const GatewayRound& round, TorchStoreServers& servers) const;
  // Returns where this machine's processes find it.
  absl::StatusOr<uint16_t> ListenForRelay(torch_store::Service& relay, bool is_store_here) const;
  absl::Status ListenWhereTheScriptSays(torch_store::Service& store, uint16_t master_port) const;

  const TorchStoreOptions options_;
  const Clock& clock_;
  bool has_store_ = false;  // in this round, somewhere
};

}  // namespace muster::agent
