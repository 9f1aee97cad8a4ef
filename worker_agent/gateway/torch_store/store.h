// What the clients of one PyTorch store share: keys, queues, and who waits for what. Pure: no sockets, no clock, one
// thread. Semantics as measured of PyTorch 2.13's libuv server, but for two of its oddities: a COMPARE_SET that stores
// nothing wakes nobody, and a queue that is not empty counts as there for whoever waits for it and for other keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker_agent/gateway/torch_store/limits.h"
#include "worker_agent/gateway/torch_store/output.h"
#include "worker_agent/gateway/torch_store/request.h"
#include "worker_agent/gateway/torch_store/value.h"

namespace muster::torch_store {

// Who waits for which keys and barriers of a store. A client that waits for many keys is told once, when the last one
// has come, also if one of them was deleted meanwhile: as in PyTorch's server, what has come has come.
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

class Store {
 public:
  // `wake`: what this client waited for is there; it is to be sent kStopWaiting.
  Store(const Limits& limits, std::function<void(uint64_t client)> wake);

  // Answers into `output`, at once or by `wake` later. An error: the connection is to be closed; nothing was changed.
  absl::Status Apply(uint64_t client, Dialect dialect, Request request, Output& output);
  // The client is gone.
  void Forget(uint64_t client) { waits_.Cancel(client); }

  // Of values that are replaced or deleted, and still wait to be sent to somebody.
  size_t unread_bytes() const { return alive_bytes_ - value_bytes_; }

 private:
  using Queue = std::deque<ValuePtr>;

  bool IsThere(const std::string& key) const;
  absl::Status CheckRoom(size_t more) const;
  // Whether this client may wait for these, too.
  absl::Status CheckWaits(uint64_t client, const std::vector<std::string>& keys) const;

  absl::Status Set(Request request);
  absl::Status Append(Request request);
  absl::Status CompareSet(Request request, Output& output);
  absl::Status Get(const std::string& key, Dialect dialect, Output& output) const;
  absl::StatusOr<int64_t> Add(const std::string& key, int64_t number);
  absl::Status Wait(uint64_t client, const Request& request, Output& output);
  absl::Status Barrier(uint64_t client, const Request& request, Output& output);
  absl::Status MultiGet(const Request& request, Dialect dialect, Output& output) const;
  absl::Status MultiSet(Request request);
  absl::Status Push(Request request);
  void Pop(const std::string& key, Output& output);
  void ListKeys(Output& output) const;
  int64_t Delete(const std::string& key);
  bool AreThere(const std::vector<std::string>& keys) const;
  void Put(const std::string& key, std::string text);

  const Limits limits_;
  size_t alive_bytes_ = 0;   // of values; they outlive what follows
  size_t value_bytes_ = 0;   // of those that are stored here
  size_t stored_bytes_ = 0;  // those, keys, and what keeping them costs
  absl::flat_hash_map<std::string, std::shared_ptr<Value>> values_;
  absl::flat_hash_map<std::string, Queue> queues_;  // none is empty
  Waits waits_;
};

// The byte that ends a WAIT and a BARRIER.
inline constexpr char kStopWaiting = 0;

}  // namespace muster::torch_store
