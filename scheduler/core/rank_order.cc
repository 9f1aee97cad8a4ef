#include "scheduler/core/rank_order.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <numeric>

#include "common/ip_address.h"

namespace muster::scheduler {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Compares the numbers that begin at a[i] and b[j], of any length; moves both behind them.
int CompareNumbers(const std::string& a, size_t& i, const std::string& b, size_t& j) {
  const auto take = [](const std::string& text, size_t& at) {
    while (at < text.size() && text[at] == '0') ++at;
    const size_t begin = at;
    while (at < text.size() && IsDigit(text[at])) ++at;
    return text.substr(begin, at - begin);
  };
  const std::string x = take(a, i);
  const std::string y = take(b, j);
  if (x.size() != y.size()) return x.size() < y.size() ? -1 : 1;
  return x.compare(y);
}

// IPv4 before IPv6 before what is no address.
int CompareAddresses(const std::string& a, const std::string& b) {
  const auto x = IpAddress::Parse(a);
  const auto y = IpAddress::Parse(b);
  if (x && y) return *x < *y ? -1 : (*x == *y ? 0 : 1);
  if (x.has_value() != y.has_value()) return x ? -1 : 1;
  return a.compare(b);
}

bool AddressLess(const OrderedNode& a, const OrderedNode& b) {
  if (const int order = CompareAddresses(a.info->address(), b.info->address()); order != 0) return order < 0;
  return NaturalLess(a.id, b.id);
}

bool LabelLess(const OrderedNode& a, const OrderedNode& b) {
  if (a.info->label_path() != b.info->label_path()) return NaturalLess(a.info->label_path(), b.info->label_path());
  return AddressLess(a, b);
}

// The first machine is the one whose address a user's MASTER_ADDR names, if there is one.
std::string FirstMachine(const std::vector<OrderedNode>& nodes) {
  for (const OrderedNode& node : nodes) {
    const auto wanted = IpAddress::Parse(node.info->wanted_master_address());
    if (!wanted) continue;
    for (const OrderedNode& other : nodes) {
      if (IpAddress::Parse(other.info->address()) == wanted) return other.info->machine_id();
    }
  }
  return "";
}

// The ranks that the table gives each server go, in device order, to that server's nodes in address order.
std::vector<std::vector<uint32_t>> AssignByTable(const std::vector<OrderedNode>& nodes,
                                                 const std::vector<size_t>& order) {
  std::map<uint32_t, int> taken;  // by the server's first rank
  std::vector<std::vector<uint32_t>> ranks(nodes.size());
  for (const size_t i : order) {
    const v1::NodeInfo& info = *nodes[i].info;
    int& next = taken[info.table_ranks(0)];
    for (int slot = 0; slot < info.slots_size(); ++slot) ranks[i].push_back(info.table_ranks(next++));
  }
  return ranks;
}

}  // namespace

bool IsAllDigits(const std::string& id) { return !id.empty() && std::all_of(id.begin(), id.end(), IsDigit); }

std::optional<uint32_t> NumericId(const std::string& id) {
  if (!IsAllDigits(id)) return std::nullopt;
  const size_t first = std::min(id.find_first_not_of('0'), id.size() - 1);
  if (id.size() - first > 9) return std::nullopt;
  return static_cast<uint32_t>(std::stoul(id.substr(first)));
}

bool NaturalLess(const std::string& a, const std::string& b) {
  size_t i = 0;
  size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (IsDigit(a[i]) && IsDigit(b[j])) {
      if (const int order = CompareNumbers(a, i, b, j); order != 0) return order < 0;
    } else if (a[i] != b[j]) {
      return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
    } else {
      ++i;
      ++j;
    }
  }
  const size_t rest_a = a.size() - i;
  const size_t rest_b = b.size() - j;
  return rest_a != rest_b ? rest_a < rest_b : a < b;
}

std::vector<std::vector<uint32_t>> AssignRanks(const std::vector<OrderedNode>& nodes, bool forces_address_order,
                                               bool ids_are_ranks) {
  const auto all = [&](auto has) { return std::all_of(nodes.begin(), nodes.end(), has); };
  const bool have_table = all([](const OrderedNode& n) { return n.info->table_ranks_size() > 0; });
  const bool have_node_ranks = all([](const OrderedNode& n) { return n.info->has_node_rank(); });
  const bool have_numbers = all([](const OrderedNode& n) { return NumericId(n.id).has_value(); });
  const bool have_one_slot = all([](const OrderedNode& n) { return n.info->slots_size() == 1; });

  std::vector<size_t> order(nodes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto sort_by = [&](auto less) {
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return less(nodes[a], nodes[b]); });
  };
  if (have_table) {
    sort_by(AddressLess);
    return AssignByTable(nodes, order);
  }
  if (forces_address_order) {
    sort_by(AddressLess);
  } else if (have_node_ranks) {
    sort_by([](const OrderedNode& a, const OrderedNode& b) {
      if (a.info->node_rank() != b.info->node_rank()) return a.info->node_rank() < b.info->node_rank();
      return NaturalLess(a.id, b.id);
    });
  } else if (have_numbers) {
    std::vector<std::vector<uint32_t>> ranks(nodes.size());
    if (have_one_slot && ids_are_ranks) {
      for (size_t i = 0; i < nodes.size(); ++i) ranks[i] = {*NumericId(nodes[i].id)};
      return ranks;
    }
    sort_by([](const OrderedNode& a, const OrderedNode& b) { return *NumericId(a.id) < *NumericId(b.id); });
  } else {
    sort_by(LabelLess);
    const std::string first = FirstMachine(nodes);
    std::stable_partition(order.begin(), order.end(),
                          [&](size_t i) { return !first.empty() && nodes[i].info->machine_id() == first; });
  }

  std::vector<std::vector<uint32_t>> ranks(nodes.size());
  uint32_t next = 0;
  for (const size_t i : order) {
    for (int slot = 0; slot < nodes[i].info->slots_size(); ++slot) ranks[i].push_back(next++);
  }
  return ranks;
}

}  // namespace muster::scheduler
