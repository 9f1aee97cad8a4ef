#include "scheduler/rpc/fair_queue.h"

#include <algorithm>

namespace muster::scheduler {
namespace {

std::string AddressOf(const std::string& peer) { return peer.substr(0, peer.rfind(':')); }

}  // namespace

FairQueue::Turn FairQueue::TurnOf(const std::string& name, const Address& address) {
  return {address.under_way, address.line.front().number, name};
}

template <typename Change>
void FairQueue::Update(const std::string& name, const Change& change) {
  Address& address = addresses_[name];
  if (!address.line.empty()) turns_.erase(TurnOf(name, address));
  change(address);
  if (!address.line.empty()) {
    turns_.insert(TurnOf(name, address));
  } else if (address.under_way == 0) {
    addresses_.erase(name);
  }
}

std::string FairQueue::LongestLine() const {
  const auto longest = std::max_element(addresses_.begin(), addresses_.end(), [](const auto& a, const auto& b) {
    return a.second.line.size() < b.second.line.size();
  });
  return longest == addresses_.end() ? "" : longest->first;
}

std::optional<FairQueue::Waiting> FairQueue::Add(Waiting waiting) {
  Update(AddressOf(waiting.peer), [&](Address& address) {
    address.line.push_back({++last_number_, std::move(waiting)});
  });
  if (++size_ <= most_) return std::nullopt;
  Waiting last;
  Update(LongestLine(), [&](Address& address) {
    last = std::move(address.line.back().waiting);
    address.line.pop_back();
  });
  --size_;
  return last;
}

std::optional<FairQueue::Waiting> FairQueue::Take() {
  if (turns_.empty()) return std::nullopt;
  Waiting next;
  const std::string name = std::get<2>(*turns_.begin());
  Update(name, [&](Address& address) {
    next = std::move(address.line.front().waiting);
    address.line.pop_front();
  });
  --size_;
  return next;
}

std::vector<FairQueue::Waiting> FairQueue::TakeAll() {
  std::vector<Waiting> all;
  while (auto next = Take()) all.push_back(*std::move(next));
  return all;
}

void FairQueue::NoteUnderWay(const std::string& peer) {
  Update(AddressOf(peer), [](Address& address) { ++address.under_way; });
}

void FairQueue::NoteOver(const std::string& peer) {
  Update(AddressOf(peer), [](Address& address) { address.under_way -= address.under_way > 0 ? 1 : 0; });
}

}  // namespace muster::scheduler
