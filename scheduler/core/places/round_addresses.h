// Which address each node of a round is known by to its peers. A pure function; the table is in round_addresses.cc.
//
// A node's loopback address reaches only its own machine, so in a round of several machines another one is told. What
// was chosen is in the record RoundClosed: recovery decides nothing again.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "scheduler/core/state/state.h"

namespace muster::scheduler {

// By node id, of those nodes only whose peers are told another address than the node's own (NodeInfo.address).
using OtherAddresses = absl::flat_hash_map<std::string, std::string>;

// The numeric address that the node's peers are told.
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
