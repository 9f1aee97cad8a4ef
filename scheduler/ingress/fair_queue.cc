// The choice of the next connection, and of the one that is dropped when the queue is full:
//
//   next     Addresses without a connection in gRPC come first. Among them (or among all addresses, if each has one):
//            the network with the fewest connections in gRPC; in it, the client with the fewest; of it, the address
//            with the fewest. Among equals, the connection that came first is next.
//   dropped  The client with the most waiting connections loses one: the last one of its address with the most. If
//            several clients have the most (an attacker may send one connection from each of many addresses), the
//            network with the most waiting connections loses one.
#include "scheduler/ingress/fair_queue.h"

#include <algorithm>
#include <utility>

#include "common/net/fair_share.h"
#include "common/net/ip_address.h"

namespace muster::scheduler {
namespace {

enum Level : size_t { kNetwork, kClient };

}  // namespace

FairQueue::Path FairQueue::PathOf(const std::string& peer) {
  const std::string text = peer.substr(0, peer.rfind(':'));
  const std::optional<IpAddress> address = IpAddress::Parse(text);
  if (!address) return {text, text, text};
  return {FairNetwork(*address).bytes(), FairShare(*address).bytes(), text};
}

FairQueue::Turn FairQueue::TurnOf(const std::string& name, const Share& share) {
  if (!share.line.empty()) return {share.under_way > 0, share.under_way, share.line.front().number, name};
  const Turn& first = *share.turns.begin();
  return {std::get<0>(first), share.under_way, std::get<2>(first), name};
}

FairQueue::Crowd FairQueue::CrowdOf(const std::string& name, const Share& share, size_t level) {
  const size_t of_client = level == kNetwork ? std::get<0>(*share.crowds.rbegin()) : share.waiting;
  return {of_client, share.waiting, share.latest, name};
}

template <typename Change>
void FairQueue::Update(Share& share, const Path& path, size_t level, const Change& change) {
  if (level == kLevels) return change(share);
  const std::string& name = path[level];
  Share& part = share.parts[name];
  if (part.waiting > 0) {
    share.turns.erase(TurnOf(name, part));
    share.crowds.erase(CrowdOf(name, part, level));
  }
  share.under_way -= part.under_way;
  share.waiting -= part.waiting;
  Update(part, path, level + 1, change);
  share.under_way += part.under_way;
  share.waiting += part.waiting;
  share.latest = std::max(share.latest, part.latest);
  if (part.waiting > 0) {
    share.turns.insert(TurnOf(name, part));
    share.crowds.insert(CrowdOf(name, part, level));
  } else if (part.under_way == 0) {
    share.parts.erase(name);
  }
}

std::optional<FairQueue::Waiting> FairQueue::Add(Waiting waiting) {
  const Path path = PathOf(waiting.peer);
  Update(all_, path, kNetwork, [&](Share& address) {
    address.latest = ++last_number_;
    address.line.push_back({last_number_, std::move(waiting)});
    ++address.waiting;
  });
  if (size() <= most_) return std::nullopt;
  return DropOne();
}

FairQueue::Waiting FairQueue::DropOne() {
  Path path;
  const Share* share = &all_;
  for (std::string& name : path) {
    name = std::get<3>(*share->crowds.rbegin());
    share = &share->parts.at(name);
  }
  Waiting last;
  Update(all_, path, kNetwork, [&](Share& address) {
    last = std::move(address.line.back().waiting);
    address.line.pop_back();
    --address.waiting;
  });
  return last;
}

std::optional<FairQueue::Waiting> FairQueue::Take() {
  if (empty()) return std::nullopt;
  Path path;
  const Share* share = &all_;
  for (std::string& name : path) {
    name = std::get<3>(*share->turns.begin());
    share = &share->parts.at(name);
  }
  Waiting next;
  Update(all_, path, kNetwork, [&](Share& address) {
    next = std::move(address.line.front().waiting);
    address.line.pop_front();
    --address.waiting;
  });
  return next;
}

FairQueue::Holds FairQueue::HoldsOfNext() const {
  int levels = 0;
  for (const Share* share = &all_; !share->turns.empty(); ++levels) {
    share = &share->parts.at(std::get<3>(*share->turns.begin()));
    if (share->under_way == 0) break;
  }
  return static_cast<Holds>(levels);
}

std::vector<FairQueue::Waiting> FairQueue::TakeAll() {
  std::vector<Waiting> all;
  while (auto next = Take()) all.push_back(*std::move(next));
  return all;
}

void FairQueue::NoteUnderWay(const std::string& peer) {
  Update(all_, PathOf(peer), kNetwork, [](Share& address) { ++address.under_way; });
}

void FairQueue::NoteOver(const std::string& peer) {
  Update(all_, PathOf(peer), kNetwork, [](Share& address) { address.under_way -= address.under_way > 0 ? 1 : 0; });
}

}  // namespace muster::scheduler
