// Chooses the address that a node's peers get in a round. A pure function; the table is in round_addresses.cc.
//
// A node's loopback address reaches only its own machine, so in a round of several machines its peers get another one.
// The record RoundClosed has the choice: recovery decides nothing again.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "scheduler/core/state/state.h"

namespace muster::scheduler {

// Addresses by node id, only where peers get another one than the node's own (NodeInfo.address).
using OtherAddresses = absl::flat_hash_map<std::string, std::string>;

// Returns the numeric address that the node's peers get.
const std::string& AddressOf(const Node& node, const OtherAddresses& others);

struct Unreachable {
  const Node* node = nullptr;
  std::string reason;  // for people: why ("it …"), and what to do
};

struct RoundAddresses {
  OtherAddresses others;
  std::vector<Unreachable> unreachable;  // in the order of `members`; empty: the round may close
};

// `own_address`: the scheduler's, if it listens on one that other machines reach, else empty.
RoundAddresses ChooseAddresses(const std::vector<const Node*>& members, const std::string& own_address);

}  // namespace muster::scheduler
