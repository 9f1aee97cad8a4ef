// What the clients of one PyTorch store share: keys, queues, and who waits for what. Pure: no sockets, no clock, one
// thread. Semantics as measured of PyTorch 2.13's libuv server, but for two of its oddities: a COMPARE_SET that stores
// nothing wakes nobody, and a queue that is not empty counts as there for whoever waits for it and for other keys.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker_agent/gateway/torch_store/limits.h"
#include "worker_agent/gateway/torch_store/output.h"
#include "worker_agent/gateway/torch_store/request.h"
#include "worker_agent/gateway/torch_store/value.h"
#include "worker_agent/gateway/torch_store/waits.h"

namespace muster::torch_store {

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
