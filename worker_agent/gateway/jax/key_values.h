// The key-value pairs of JAX's coordination service, in the job's store. Keys are paths: "/a//b/" is "a/b".
//
// Each pair is one value of the store, so that it changes at once: the value itself, or the name of the text that was
// written before (store_text.h) where it is larger than the store's values may be. A key that is longer than the
// store's may be stands there by its digest.
//
// How fresh is a read? TryGet, List and Increment are; a Get sees what another node has changed within a second, as
// the agent's store does, and behind a barrier at once. All values are of the round.
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
#include "worker_agent/gateway/chassis/strand.h"
#include "worker_agent/gateway/jax/messages.pb.h"

namespace muster::jax {

// "/a//b/" is "a/b".
std::string NormalKey(const std::string& key);

// Of the strand's thread; `done` is called there, once, unless the round ends before. Errors besides the store's are
// those of XLA's own service, with its words: ALREADY_EXISTS, NOT_FOUND, FAILED_PRECONDITION.
class KeyValues {
 public:
  using Done = std::function<void(absl::Status status)>;
  using ValueDone = std::function<void(absl::StatusOr<std::string> value)>;
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  using PairsDone = std::function<void(absl::StatusOr<Pairs> pairs)>;

  static constexpr size_t kMaxValueBytes = size_t{16} << 20;

  // `writer` is nobody else's in this round. `store` and `clock` outlive what is asked of the store.
  KeyValues(JobStore& store, const Clock& clock, agent::Post post, std::string writer)
      : store_(store), clock_(clock), post_(std::move(post)), writer_(std::move(writer)) {}

  void Insert(const std::string& key, const std::string& value, bool may_overwrite, Done done);
  // Waits until it is there, for as long as `is_wanted`.
  void Get(const std::string& key, std::function<bool()> is_wanted, ValueDone done);
  void TryGet(const std::string& key, ValueDone done);
  // Adds to the decimal number that the key holds (0 when it is not there) and gives the sum as text.
  void Increment(const std::string& key, int64_t by, ValueDone done);
  // All below `directory`, at any depth, with their whole keys.
  void List(const std::string& directory, PairsDone done);
  // The key and all below it. One that is not there is no error.
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
  // NOT_FOUND: it is not there.
  void Find(const std::string& key, StoredDone done);
  // NOT_FOUND: it is not there any more.
  void Fetch(const std::string& key, const StoredValue& stored, ValueDone done);
  void DropText(const StoredValue& stored);
  void ListPage(const std::string& prefix, const std::string& after, std::shared_ptr<JobStore::Listing> all, Done done);
  void ListStored(const std::string& directory, StoredPairsDone done);
  void FetchAll(std::shared_ptr<StoredPairs> left, std::shared_ptr<Pairs> pairs, PairsDone done);

  JobStore& store_;
  const Clock& clock_;
  const agent::Post post_;
  const std::string writer_;
  uint64_t last_ = 0;           // number of a writing
  size_t under_way_ = 0;        // changes
  std::deque<Change> waiting_;  // until there is room in the agent's store
  size_t waiting_bytes_ = 0;    // of their values
};

}  // namespace muster::jax
