// The state that the clients of one PyTorch store share: keys, queues, and waits. Pure: no sockets, no clock, one
// thread. It behaves as PyTorch 2.13's libuv server was measured to behave, except in two points. A COMPARE_SET that
// stores nothing wakes no client. And a key with entries in its queue counts as present even for a client that
// also waits for other keys.
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

// The waits of a store's clients, for keys and barriers. A client that waits for many keys is woken once, when the last
// one has come. A key that has come counts even if it has been deleted since, as in PyTorch's server.
class Waits {
 public:
  explicit Waits(std::function<void(uint64_t client)> wake) : wake_(std::move(wake)) {}

  // Adds a wait for `keys`. There must be at least one key, and no key twice.
  void Add(uint64_t client, const std::vector<std::string>& keys);
  // Adds a wait until the counter of this barrier is at least `world`.
  void AddToBarrier(uint64_t client, const std::string& key, int64_t world);

  // Call it when the key has a value: ends the waits for it.
  void Came(const std::string& key);
  // Call it when the queue of this name has one more entry. Only the wait that has lasted longest counts it.
  void CameForOne(const std::string& key);
  void BarrierIsAt(const std::string& key, int64_t count);

  // Removes all waits of the client without waking it.
  void Cancel(uint64_t client);

  // Returns the approximate memory of all waits.
  size_t bytes() const { return bytes_; }
  // Returns how much memory a wait for `keys` would add.
  static size_t BytesOf(const std::vector<std::string>& keys);
  // Returns the number of the client's waits.
  size_t CountOf(uint64_t client) const;

 private:
  using WaitId = uint64_t;  // ids rise, so a longer wait has a lower id
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
    size_t missing_num = 0;  // how many of `names` have not come
    int64_t world = 0;       // of a wait for a barrier
  };

  WaitId Begin(uint64_t client);
  Waiters& Refer(WaitId id, const std::string& name);
  void End(WaitId id);
  // Counts one name less for the wait. After the last name, ends the wait and wakes the client.
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
  // The store calls `wake` when a client's wait has ended. The caller must then send kStopWaiting to this client.
  Store(const Limits& limits, std::function<void(uint64_t client)> wake);

  // Answers into `output`, or calls `wake` later. After an error the caller must close the connection; nothing has
  // changed.
  absl::Status Apply(uint64_t client, Dialect dialect, Request request, Output& output);
  // Call it when the client is gone.
  void Forget(uint64_t client) { waits_.Cancel(client); }

  // Returns the memory of values that were replaced or deleted, but must still be sent to a client.
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
  size_t alive_bytes_ = 0;   // of all values that exist; must outlive values_ and queues_
  size_t value_bytes_ = 0;   // of the values in values_ and queues_
  size_t stored_bytes_ = 0;  // value_bytes_, the keys, and the overhead of the entries
  absl::flat_hash_map<std::string, std::shared_ptr<Value>> values_;
  absl::flat_hash_map<std::string, Queue> queues_;  // no queue in it is empty
  Waits waits_;
};

// The byte that answers a WAIT or a BARRIER when it ends.
inline constexpr char kStopWaiting = 0;

}  // namespace muster::torch_store
