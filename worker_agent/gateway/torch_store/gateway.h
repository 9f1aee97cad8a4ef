// The job's PyTorch store (TCPStore), in the agent of rank 0's node, at MASTER_PORT. It is empty at the start of each
// round. All processes are its clients (TORCHELASTIC_USE_AGENT_STORE=True). So no process has to bind a port, and the
// store survives the death of any process. Agents of other nodes only set that variable. With relays
// (--torch_store_relay) they also pass their processes' requests on; their processes then find the store on loopback.
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

// The machines from which processes may connect to the store. TCPStore has no password, so without agents' links
// (--torch_store_relay) only its address shows that a process belongs to the round. Pure.
class AllowedPeers {
 public:
  // Allows the machines of the round, with all addresses that they announced, and `networks`.
  AllowedPeers(const v1::PeerList& peers, std::vector<IpNetwork> networks);

  // Does not know this machine's own addresses.
  bool Contains(const IpAddress& address) const;

 private:
  std::set<IpAddress> addresses_;
  std::vector<IpNetwork> networks_;
};

// Returns the message for a refused process: why processes of that address are not served, and what to do.
std::string WhyNotInRound(const IpAddress& address);

// Checks the links of the round's agents.
class LinkRules {
 public:
  // `networks` are translated addresses of agents, which their machines don't know (NAT).
  LinkRules(const v1::PeerList& peers, std::vector<IpNetwork> networks);

  // Returns why the link with this hello is not served; empty: it is. `is_here` is true if the link comes from this
  // machine.
  std::string WhyNot(const torch_store::LinkHello& hello, const IpAddress& from, bool is_here) const;
  // Returns the number of ranks of a node of the round; 0: the node is not in the round.
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

// Returns why a certificate with this name is not that of `node`'s agent; empty: it is, or the agent used no
// certificate.
std::string WhyNotNode(const std::optional<PeerName>& name, const std::string& job, const std::string& node);

struct TorchStoreOptions {
  std::string job_id;
  bool is_relay_asked = false;
  bool is_plain_port_refused = false;   // true with --require_tls, unless --torch_store_relay=false is set
  std::shared_ptr<const TlsStore> tls;  // for links; null: links are plain
  uint16_t wanted_port = 0;             // the relay's port for this machine's processes; 0: any port
  std::vector<IpNetwork> networks;      // processes from these are served too, not only those of the round's machines
  std::vector<uint16_t> script_ports;   // see PortsOfScript
};

// The servers of this node in a round. It has none if the store runs on another node and there are no relays.
struct TorchStoreServers {
  std::unique_ptr<torch_store::Service> store;
  std::unique_ptr<torch_store::Service> relay;
  uint32_t local_port = 0;  // with relays: the store's port for this machine's processes
};

class TorchStoreGateway final : public RoundGateway<TorchStoreServers> {
 public:
  // `clock` must outlive this.
  TorchStoreGateway(TorchStoreOptions options, const Clock& clock) : options_(std::move(options)), clock_(clock) {}

  // On rank 0's node, opens the store, which stays open until the round is over.
  absl::Status Begin(const GatewayRound& round) override;
  void AddTo(EnvironmentInput& input) const override;
  // With relays, rank 0's process can't serve the store in the agent's place, since other nodes' processes connect to
  // their agents. If plain ports are refused, rank 0's process may not serve the store either.
  bool IsNeeded(const GatewayRound& round) const override {
    return !round.assignment.torch_store_node().empty() || (options_.is_plain_port_refused && LacksRelays(round));
  }
  void Over(uint64_t run, uint32_t round) override;

 private:
  // Returns true if this agent must serve the store and relays were asked for, but this round has none.
  bool LacksRelays(const GatewayRound& round) const;
  absl::StatusOr<std::unique_ptr<TorchStoreServers>> ServerFor(const GatewayRound& round) override;
  absl::Status Serve(const GatewayRound& round, TorchStoreServers& servers) const;
  torch_store::LinksOptions LinksFor(const GatewayRound& round) const;
  absl::Status ServeByRelay(const GatewayRound& round, TorchStoreServers& servers) const;
  // Returns the port for this machine's processes.
  absl::StatusOr<uint16_t> ListenForRelay(torch_store::Service& relay, bool is_store_here) const;
  absl::Status ListenWhereTheScriptSays(torch_store::Service& store, uint16_t master_port) const;

  const TorchStoreOptions options_;
  const Clock& clock_;
  bool has_store_ = false;  // true if this round has a store, on any node
};

}  // namespace muster::agent
