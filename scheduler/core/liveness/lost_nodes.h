// The lost nodes of a run, counted, and found by what a newcomer without an id brings: however many are lost, one that
// returns looks at none of the others. Part of the state that Evolve keeps; it follows from the nodes.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "muster/v1/types.pb.h"

namespace muster::scheduler {

class Node;

class LostNodes {
 public:
  // Before and after each change to whether the node is lost, with a stale incarnation or there at all. Of one that
  // isn't lost: nothing happens.
  void Remove(const Node& node) { Count(node, -1); }
  void Add(const Node& node) { Count(node, 1); }

  uint32_t size() const { return size_; }

  // The id of the lost node whose place a newcomer without an id of its own takes: one that had none either and whose
  // processes have ended, on its machine, else on a host of its name, else any; of several the first by id. Empty:
  // there is none.
  std::string SeatFor(const v1::NodeInfo& newcomer, const std::string& identity) const;

  bool operator==(const LostNodes&) const = default;

 private:
  enum class Place { kMachine, kHost, kAnywhere };
  // Whose it is, role, slots, and where it stood.
  using Seat = std::tuple<std::string, v1::Role, int, Place, std::string>;

  static Seat SeatOf(const std::string& identity, const v1::NodeInfo& info, Place place);
  void Count(const Node& node, int by);

  uint32_t size_ = 0;
  std::map<Seat, std::set<std::string>> seats_;  // ids
};

}  // namespace muster::scheduler
