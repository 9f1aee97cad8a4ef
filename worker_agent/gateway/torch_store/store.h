// The state that the clients of one PyTorch store share: keys, queues, and waits. Pure: no sockets, no clock, one
// thread. Semantics as measured of PyTorch 2.13's libuv server, except two of its oddities. A COMPARE_SET that stores
// nothing wakes no client. A queue that is not empty counts as there also for a client that waits for other keys too.
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

// The clients' waits for keys and barriers of a store. A client that waits for many keys is woken once, when the last
// one has come. A key that has come counts even if it was deleted meanwhile, as in PyTorch's server.
class Waits {
 public:
  explicit Waits(std::function<void(uint64_t client)> wake) : wake_(std::move(wake)) {}

  // Adds a wait for `keys`: at least one, each once.
  void Add(uint64_t client, const std::vector<std::string>& keys);
  // Adds a wait until the counter of this barrier is at least `world`.
  void AddToBarrier(uint64_t client, const std::string& key, int64_t world);

  // The key is there: no wait needs it any more.
  void Came(const std::string& key);
  // A queue of this name has one more entry. It counts for the longest wait only.
  void CameForOne(const std::string& key);
  void BarrierIsAt(const std::string& key, int64_t count);

  // Removes all waits of the client without waking it.
  void Cancel(uint64_t client);

  // The approximate memory of all waits, until they end.
  size_t bytes() const { return bytes_; }
  // The additional memory of a wait for `keys`.
  static size_t BytesOf(const std::vector<std::string>& keys);
  // Returns the number of the client's waits.
  size_t CountOf(uint64_t client) const;

 private:
  using WaitId = uint64_t;  // ascending: a longer wait has a lower id
  // The waits for one name. It exists as long as a wait refers to it.
  struct Waiters {
    std::string name;
    size_t references = 0;
    absl::btree_set<WaitId> for_key;
    absl::btree_set<std::pair<int64_t, WaitId>> at_barrier;  // first: the count that ends the wait
  };
  struct Wait {
    uint64_t client = 0;
    std::vector<Waiters*> names;
    size_t missing_num = 0;  // of `names`
    int64_t world = 0;       // of a barrier
  };

  WaitId Begin(uint64_t client);
  Waiters& Refer(WaitId id, const std::string& name);
  void End(WaitId id);
  // Counts one name less for the wait; wakes the client after the last one.
  void Advance(WaitId id);

  const std::function<void(uint64_t client)> wake_;
  WaitId last_id_ = 0;
  size_t bytes_ = 0;
  absl::node_hash_map<std::string, Waiters> waiters_;  // only names with a wait
  absl::flat_hash_map<WaitId, Wait> waits_;
  absl::flat_hash_map<uint64_t, std::vector<WaitId>> of_client_;
};

class Store {
 public:
  // Calls `wake` when a client's wait has ended; the caller must send it kStopWaiting.
  Store(const Limits& limits, std::function<void(uint64_t client)> wake);

  // Answers into `output` now, or by `wake` later. On an error the connection must be closed; nothing was changed.
  absl::Status Apply(uint64_t client, Dialect dialect, Request request, Output& output);
  // The client is gone.
  void Forget(uint64_t client) { waits_.Cancel(client); }

  // Bytes of values that were replaced or deleted, but are still to be sent to a client.
  size_t unread_bytes() const { return alive_bytes_ - value_bytes_; }

 private:
  using Queue = std::deque<ValuePtr>;

  bool IsThere(const std::string& key) const;
  absl::Status CheckRoom(size_t more) const;
  // Checks that this client may also wait for these keys.
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
  size_t alive_bytes_ = 0;   // of all existing values; must outlive values_ and queues_
  size_t value_bytes_ = 0;   // of the values stored here
  size_t stored_bytes_ = 0;  // those, keys, and the overhead
  absl::flat_hash_map<std::string, std::shared_ptr<Value>> values_;
  absl::flat_hash_map<std::string, Queue> queues_;  // none is empty
  Waits waits_;
};

// The byte that ends a WAIT and a BARRIER.
inline constexpr char kStopWaiting = 0;

}  // namespace muster::torch_store
