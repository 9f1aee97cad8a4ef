// A round as remote commands see it, with the rules for requests between nodes. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/net/ip_address.h"
#include "common/tls/peer/peer_name.h"
#include "muster/v1/types.pb.h"
#include "worker_agent/gateway/exec/request.h"

namespace muster::exec {

struct Peer {
  std::string node_id;
  std::string host_name;
  std::vector<IpAddress> addresses;  // the first is the one that peers use; may be empty
  uint32_t machine = 0;
  uint32_t slots = 0;
  uint16_t port = 0;  // 0: it takes no remote commands
  std::string key;
};

struct Round {
  std::string job;
  uint64_t run = 0;
  uint32_t round = 0;
  size_t own = 0;  // index into peers
  std::vector<Peer> peers;
  std::string token;  // secret of this round, by which this node's processes are recognized

  const Peer& own_peer() const { return peers[own]; }
  // The job's command runs on the first node; the others serve it.
  bool is_first() const { return own == 0; }
};

// The error names the nodes that take no remote commands, and says what to do.
absl::StatusOr<Round> RoundOf(const v1::PeerList& peers, const std::string& node_id, std::string token);

// Returns the node that a launcher means: by an address, a host name, the part of it before the first dot, or a node
// id. If several nodes fit, returns this node if it fits by name, otherwise the first of them.
const Peer* FindHost(const Round& round, const std::string& host);
bool IsHere(const Round& round, const Peer& peer);

// The origin of another agent's request. `name` is from its certificate (none: no TLS); `is_local` is true if its
// address is one of this machine's.
struct Asker {
  IpAddress address = *IpAddress::Parse("127.0.0.1");
  bool is_local = false;
  std::optional<PeerName> name;
};
struct Judgement : Answer {
  v1::RemoteCommands::Refusal refusal = v1::RemoteCommands::NOT_REFUSED;
};
// Decides on another agent's request, as the table in round.cc says. kGo: it may run.
Judgement Judge(const Round* round, const Request& request, const Asker& asker);

// Returns why a certificate with this name is not that of `node` of `job`; empty: it is, or no certificate was used.
std::string WhyNotNode(const std::optional<PeerName>& name, const std::string& job, const std::string& node);

// Compares in a time that depends on the lengths only, so that the time reveals nothing of the secret.
bool IsSameSecret(const std::string& a, const std::string& b);

// Returns a host file: "ADDRESS slots=N" or "ADDRESS:N", one line for each machine, in the order of ranks. If the
// address is IPv6, the line has the host name instead, since launchers misread its colons.
std::string HostFileText(const Round& round, const std::string& between);

}  // namespace muster::exec
