// The key-value pairs of JAX's coordination service, in the job's store. Keys are paths: "/a//b/" is "a/b".
//
// Each pair is one value of the store, so that it changes atomically. The value of the store has the pair's value
// itself or, if this is large, the name of a text that was written before (store_text.h). A key that is too long for
// the store is replaced by its digest.
//
// TryGet, List and Increment always see the latest value. Get sees another node's change within a second, like the
// agent's store, and at once after a barrier. All values belong to the round.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/store/job_store.h"
#include "worker_agent/gateway/chassis/post.h"
#include "worker_agent/gateway/jax/messages.pb.h"

namespace muster::jax {

// Removes empty parts: "/a//b/" becomes "a/b".
std::string NormalKey(const std::string& key);

// Used by the gateway's thread only. This thread also calls `done`: once, unless the round ends first. Errors besides
// the store's have the codes and texts of XLA's own service: ALREADY_EXISTS, NOT_FOUND, FAILED_PRECONDITION.
class KeyValues {
 public:
  using Done = std::function<void(absl::Status status)>;
  using ValueDone = std::function<void(absl::StatusOr<std::string> value)>;
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  using PairsDone = std::function<void(absl::StatusOr<Pairs> pairs)>;

  static constexpr size_t kMaxValueBytes = size_t{16} << 20;

  // `writer` is unique in this round. `store` and `clock` must outlive the pending calls to the store.
  KeyValues(JobStore& store, const Clock& clock, agent::Post post, std::string writer)
      : store_(store), clock_(clock), post_(std::move(post)), writer_(std::move(writer)) {}

  void Insert(const std::string& key, const std::string& value, bool may_overwrite, Done done);
  // Waits until the key has a value, as long as `is_wanted` returns true.
  void Get(const std::string& key, std::function<bool()> is_wanted, ValueDone done);
  void TryGet(const std::string& key, ValueDone done);
  // Adds to the decimal number that the key holds (0 if there is none). `done` gets the sum as text.
  void Increment(const std::string& key, int64_t by, ValueDone done);
  // Lists all keys below `directory`, at any depth. Returns whole keys.
  void List(const std::string& directory, PairsDone done);
  // Deletes the key and all keys below it. A missing key is no error.
  void Delete(const std::string& key, Done done);

 private:
  struct Change {
    std::string key;
    std::string value;
    bool may_overwrite = false;
    Done done;
  };

  using StoredPairs = std::deque<std::pair<std::string, StoredValue>>;
  using StoredDone = std::function<void(absl::StatusOr<StoredValue> stored)>;
  using StoredPairsDone = std::function<void(absl::StatusOr<StoredPairs> pairs)>;

  static std::string StoreKey(const std::string& key);
  StoredValue Written(const std::string& key);
  void BeginNext();
  void Begin(Change change);
  void WriteAnew(Change change);
  void Write(const Change& change, const StoredValue& stored);
  void Swap(const std::string& key, const std::optional<std::string>& expected, const StoredValue& stored,
            JobStore::ValueDone done);
  void SwapNumber(const std::string& key, int64_t by, std::optional<std::string> expected, ValueDone done);
  // Gives NOT_FOUND if there is no such key.
  void Find(const std::string& key, StoredDone done);
  // Gives NOT_FOUND if the key has been deleted in the meantime.
  void Fetch(const std::string& key, const StoredValue& stored, ValueDone done);
  void DropText(const StoredValue& stored);
  void ListPage(const std::string& prefix, const std::string& after, std::shared_ptr<JobStore::Listing> all, Done done);
  void ListStored(const std::string& directory, StoredPairsDone done);
  void FetchAll(std::shared_ptr<StoredPairs> left, std::shared_ptr<Pairs> pairs, PairsDone done);

  JobStore& store_;
  const Clock& clock_;
  const agent::Post post_;
  const std::string writer_;
  uint64_t last_ = 0;           // the number of the last write
  size_t under_way_ = 0;        // number of changes
  std::deque<Change> waiting_;  // until there is room in the agent's store
  size_t waiting_bytes_ = 0;    // of their values
};

}  // namespace muster::jax
