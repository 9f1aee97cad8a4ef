// Who waits for which keys and barriers of a store. A client that waits for many keys is told once, when the last one
// has come, also if one of them was deleted meanwhile: as in PyTorch's server, what has come has come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"

namespace muster::torch_store {

class Waits {
 public:
  explicit Waits(std::function<void(uint64_t client)> wake) : wake_(std::move(wake)) {}

  // Not empty; each once.
  void Add(uint64_t client, const std::vector<std::string>& keys);
  // Until the counter of this barrier is at least `world`.
  void AddToBarrier(uint64_t client, const std::string& key, int64_t world);

  // The key is there: all who wait for it need it no more.
  void Came(const std::string& key);
  // A queue of this name has one more entry, which is enough for one: who has waited longest.
  void CameForOne(const std::string& key);
  void BarrierIsAt(const std::string& key, int64_t count);

  // All that the client waits for; it is not told.
  void Cancel(uint64_t client);

  // What all waits take, about, until they end.
  size_t bytes() const { return bytes_; }
  // How much more that will be for a wait for `keys`.
  static size_t BytesOf(const std::vector<std::string>& keys);
  // How many waits of the client are under way.
  size_t CountOf(uint64_t client) const;

 private:
  using WaitId = uint64_t;  // ascending: who waits longer has the lower one
  // Of one name. It is there for as long as a wait refers to it.
  struct Waiters {
    std::string name;
    size_t references = 0;
    absl::btree_set<WaitId> for_key;
    absl::btree_set<std::pair<int64_t, WaitId>> at_barrier;  // with the count that ends it in front
  };
  struct Wait {
    uint64_t client = 0;
    std::vector<Waiters*> names;
    size_t missing_num = 0;  // of them
    int64_t world = 0;       // of a barrier
  };

  WaitId Begin(uint64_t client);
  Waiters& Refer(WaitId id, const std::string& name);
  void End(WaitId id);
  // One name fewer; with the last one the client is told.
  void Advance(WaitId id);

  const std::function<void(uint64_t client)> wake_;
  WaitId last_id_ = 0;
  size_t bytes_ = 0;
  absl::node_hash_map<std::string, Waiters> waiters_;  // none without a wait
  absl::flat_hash_map<WaitId, Wait> waits_;
  absl::flat_hash_map<uint64_t, std::vector<WaitId>> of_client_;
};

}  // namespace muster::torch_store
