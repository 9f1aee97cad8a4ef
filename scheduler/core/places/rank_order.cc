#include "scheduler/core/places/rank_order.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "common/base/ids.h"
#include "common/net/ip_address.h"

namespace muster::scheduler {
namespace {

// A node, and the parsed values that comparisons need.
struct Sorted {
  const OrderedNode* node = nullptr;
  std::optional<IpAddress> address;
  std::optional<uint32_t> number;  // its id, if the id is a number
};

const std::string& AddressText(const OrderedNode& node) {
  return node.address.empty() ? node.info->address() : node.address;
}

// Orders IPv4 addresses before IPv6 addresses, and both before texts that are no address.
int CompareAddresses(const Sorted& a, const Sorted& b) {
  if (a.address && b.address) return *a.address < *b.address ? -1 : (*a.address == *b.address ? 0 : 1);
  if (a.address.has_value() != b.address.has_value()) return a.address ? -1 : 1;
  return AddressText(*a.node).compare(AddressText(*b.node));
}

bool AddressLess(const Sorted& a, const Sorted& b) {
  if (const int order = CompareAddresses(a, b); order != 0) return order < 0;
  return NaturalLess(a.node->id, b.node->id);
}

bool LabelLess(const Sorted& a, const Sorted& b) {
  const std::string& x = a.node->info->label_path();
  const std::string& y = b.node->info->label_path();
  return x != y ? NaturalLess(x, y) : AddressLess(a, b);
}

// Returns the id of the machine at the address in a user's MASTER_ADDR; empty if there is none. If nodes have different
// MASTER_ADDRs, the first node in `order` decides.
std::string FirstMachine(const std::vector<Sorted>& nodes, const std::vector<size_t>& order) {
  absl::flat_hash_map<std::string, size_t> at;  // the first node at an address
  for (const size_t i : order) {
    const std::string& text = nodes[i].node->info->wanted_master_address();
    const auto wanted = text.empty() ? std::nullopt : IpAddress::Parse(text);
    if (!wanted) continue;
    if (at.empty()) {
      for (const size_t j : order) {
        if (nodes[j].address) at.try_emplace(nodes[j].address->bytes(), j);
      }
    }
    if (const auto found = at.find(wanted->bytes()); found != at.end()) {
      return nodes[found->second].node->info->machine_id();
    }
  }
  return "";
}

using Ranks = std::vector<std::vector<uint32_t>>;

bool IsPermutation(const Ranks& ranks) {
  std::vector<uint32_t> all;
  for (const auto& of_node : ranks) all.insert(all.end(), of_node.begin(), of_node.end());
  std::sort(all.begin(), all.end());
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i] != i) return false;
  }
  return true;
}

// Gives the ranks that the table lists for a server, in device order, to the server's nodes in address order. Returns
// no ranks if the table has too few.
Ranks AssignByTable(const std::vector<OrderedNode>& nodes, const std::vector<size_t>& order) {
  std::map<uint32_t, int> taken;  // the number of ranks given so far, by the server's first rank
  Ranks ranks(nodes.size());
  for (const size_t i : order) {
    const v1::NodeInfo& info = *nodes[i].info;
    int& next = taken[info.table_ranks(0)];
    if (next + info.slots_size() > info.table_ranks_size()) return {};
    for (int slot = 0; slot < info.slots_size(); ++slot) ranks[i].push_back(info.table_ranks(next++));
  }
  return ranks;
}

// Gives each node its number as its rank. A spare without a number, or with a number that is taken or out of range,
// gets the lowest free rank.
Ranks AssignByNumber(const std::vector<Sorted>& nodes, const std::vector<size_t>& order) {
  Ranks ranks(nodes.size());
  std::vector<bool> is_taken(nodes.size());
  std::vector<size_t> rest;
  for (const bool is_spare : {false, true}) {
    for (const size_t i : order) {
      if (nodes[i].node->info->spare() != is_spare) continue;
      const auto number = nodes[i].number;
      if (number && *number < nodes.size() && !is_taken[*number]) {
        is_taken[*number] = true;
        ranks[i] = {*number};
      } else {
        rest.push_back(i);
      }
    }
  }
  uint32_t next = 0;
  for (const size_t i : rest) {
    while (is_taken[next]) ++next;
    is_taken[next] = true;
    ranks[i] = {next};
  }
  return ranks;
}

// Orders numbers before names. There are names only if spares fill in.
bool NumberLess(const Sorted& a, const Sorted& b) {
  if (a.number && b.number && *a.number != *b.number) return *a.number < *b.number;
  if (a.number.has_value() != b.number.has_value()) return a.number.has_value();
  return NaturalLess(a.node->id, b.node->id);
}

bool NodeRankLess(const Sorted& a, const Sorted& b) {
  const auto key = [](const Sorted& n) {
    return std::make_pair(!n.node->info->has_node_rank(), n.node->info->node_rank());
  };
  return key(a) != key(b) ? key(a) < key(b) : NaturalLess(a.node->id, b.node->id);
}

}  // namespace

std::vector<std::vector<uint32_t>> AssignRanks(const std::vector<OrderedNode>& nodes, bool forces_address_order,
                                               bool ids_are_ranks) {
  const bool are_all_spares =
      std::all_of(nodes.begin(), nodes.end(), [](const OrderedNode& n) { return n.info->spare(); });
  const auto regular_all = [&](auto has) {
    return std::all_of(nodes.begin(), nodes.end(),
                       [&](const OrderedNode& n) { return (n.info->spare() && !are_all_spares) || has(n); });
  };
  const auto has_table = [](const OrderedNode& n) { return n.info->table_ranks_size() > 0; };
  const auto has_one_slot = [](const OrderedNode& n) { return n.info->slots_size() == 1; };

  std::vector<size_t> order(nodes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::vector<Sorted> sorted;
  sorted.reserve(nodes.size());
  for (const OrderedNode& node : nodes) {
    sorted.push_back({&node, IpAddress::Parse(AddressText(node)), NumericId(node.id)});
  }
  const auto sort_by = [&](auto less) {
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return less(sorted[a], sorted[b]); });
  };
  if (std::all_of(nodes.begin(), nodes.end(), has_table)) {
    sort_by(AddressLess);
    Ranks ranks = AssignByTable(nodes, order);
    if (!ranks.empty() && IsPermutation(ranks)) return ranks;
  }
  if (forces_address_order) {
    sort_by(AddressLess);
  } else if (regular_all([](const OrderedNode& n) { return n.info->has_node_rank(); })) {
    sort_by(NodeRankLess);
  } else if (regular_all([](const OrderedNode& n) { return NumericId(n.id).has_value(); })) {
    sort_by(NumberLess);
    if (ids_are_ranks && std::all_of(nodes.begin(), nodes.end(), has_one_slot)) return AssignByNumber(sorted, order);
  } else {
    sort_by(LabelLess);
    const std::string first = FirstMachine(sorted, order);
    std::stable_partition(order.begin(), order.end(),
                          [&](size_t i) { return !first.empty() && nodes[i].info->machine_id() == first; });
  }

  Ranks ranks(nodes.size());
  uint32_t next = 0;
  for (const size_t i : order) {
    for (int slot = 0; slot < nodes[i].info->slots_size(); ++slot) ranks[i].push_back(next++);
  }
  return ranks;
}

}  // namespace muster::scheduler
