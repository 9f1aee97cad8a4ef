// A table of values by id. Finding a value takes constant time. Iteration is always in the order of the ids, so a
// decision may depend on it. A value keeps its address until it is erased.
//
// The table sorts only when an iteration begins, so that an addition costs only a hash entry. Nothing may be added or
// erased during an iteration.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/node_hash_map.h"
#include "common/base/check.h"

namespace muster::scheduler {

template <typename Value>
class IdTable {
 public:
  using Entry = std::pair<const std::string, Value>;

  template <typename E>  // Entry or const Entry
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Entry;
    using difference_type = std::ptrdiff_t;
    using pointer = E*;
    using reference = E&;

    explicit Iterator(Entry* const* at) : at_(at) {}
    E& operator*() const { return **at_; }
    E* operator->() const { return *at_; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) { return Iterator(at_++); }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    Entry* const* at_;
  };

  size_t size() const { return by_id_.size(); }
  bool empty() const { return by_id_.empty(); }

  // Returns null if the id isn't there.
  Value* Find(const std::string& id) { return const_cast<Value*>(std::as_const(*this).Find(id)); }
  const Value* Find(const std::string& id) const {
    const auto it = by_id_.find(id);
    return it == by_id_.end() ? nullptr : &it->second;
  }
  bool contains(const std::string& id) const { return by_id_.contains(id); }
  // The table must have the id.
  Value& at(const std::string& id) { return const_cast<Value&>(std::as_const(*this).at(id)); }
  const Value& at(const std::string& id) const {
    const Value* value = Find(id);
    MUSTER_CHECK(value != nullptr, "an id that must be there is not");
    return *value;
  }
  // Returns the value of the id; adds a new one if the table does not have the id.
  Value& operator[](const std::string& id) {
    const auto [it, is_new] = by_id_.try_emplace(id);
    if (is_new) order_.push_back(&*it);
    return it->second;
  }
  // The table must have the id.
  void Erase(const std::string& id) {
    const auto it = by_id_.find(id);
    MUSTER_CHECK(it != by_id_.end(), "an id that is to be erased is not there");
    const auto unsorted = order_.begin() + static_cast<std::ptrdiff_t>(sorted_);
    const auto among_sorted = std::lower_bound(order_.begin(), unsorted, &*it, Before);
    if (among_sorted != unsorted && *among_sorted == &*it) {
      order_.erase(among_sorted);
      --sorted_;
    } else {
      order_.erase(std::find(unsorted, order_.end(), &*it));
    }
    by_id_.erase(it);
  }

  Iterator<Entry> begin() { return Iterator<Entry>(Ordered().data()); }
  Iterator<Entry> end() { return Iterator<Entry>(Ordered().data() + order_.size()); }
  Iterator<const Entry> begin() const { return Iterator<const Entry>(Ordered().data()); }
  Iterator<const Entry> end() const { return Iterator<const Entry>(Ordered().data() + order_.size()); }

 private:
  static bool Before(const Entry* a, const Entry* b) { return a->first < b->first; }

  const std::vector<Entry*>& Ordered() const {
    if (sorted_ == order_.size()) return order_;
    const auto unsorted = order_.begin() + static_cast<std::ptrdiff_t>(sorted_);
    std::sort(unsorted, order_.end(), Before);
    std::inplace_merge(order_.begin(), unsorted, order_.end(), Before);
    sorted_ = order_.size();
    return order_;
  }

  absl::node_hash_map<std::string, Value> by_id_;
  mutable std::vector<Entry*> order_;  // the first sorted_ entries are in the order of ids; later additions follow
  mutable size_t sorted_ = 0;
};

}  // namespace muster::scheduler
