// Chooses the address that a node's peers get in a round. A pure function; the table is in round_addresses.cc.
//
// A node's loopback address reaches only its own machine, so in a round of several machines its peers get another
// address. The record RoundClosed contains this address, so a recovery does not choose again.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "scheduler/core/state/state.h"

namespace muster::scheduler {

// The addresses that peers get, by node id. It has only nodes for which this address differs from NodeInfo.address.
using OtherAddresses = absl::flat_hash_map<std::string, std::string>;

// Returns the numeric address that the node's peers get.
const std::string& AddressOf(const Node& node, const OtherAddresses& others);

struct Unreachable {
  const Node* node = nullptr;
  std::string reason;  // for people: why it is unreachable ("its address …"), and a remedy
};

struct RoundAddresses {
  OtherAddresses others;
  std::vector<Unreachable> unreachable;  // in the order of `members`; empty: the round may close
};

// Chooses the addresses for a round with these members. `own_address` is the scheduler's listening address if other
// machines can reach it, else empty.
RoundAddresses ChooseAddresses(const std::vector<const Node*>& members, const std::string& own_address);

}  // namespace muster::scheduler
