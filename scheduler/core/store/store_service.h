// Answers the calls of nodes to their run's store, and keeps the calls that wait for a key.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "scheduler/core/context/context.h"

namespace muster::scheduler {

class StoreService {
 public:
  explicit StoreService(Context& context) : context_(context) {}

  void On(const StoreRequested& event);

  // Answers all calls that wait for a key with FAILED_PRECONDITION, because the round is over.
  void EndWaits(Run& run);
  // Answers the calls that have waited for their whole time limit with DEADLINE_EXCEEDED.
  void ExpireWaits(Run& run);

 private:
  void Serve(Run& run, Node& node, QueryId query, const v1::StoreGet& request);
  void Serve(Run& run, Node& node, QueryId query, const v1::StoreWait& request);
  void Serve(Run& run, Node& node, QueryId query, const v1::StoreList& request);
  void Serve(Run& run, Node& node, QueryId query, const v1::StoreBatch& request);
  template <typename Request>
  void Serve(Run& run, Node& node, QueryId query, const Request& request);  // the requests that change one value
  void Change(Run& run, const Node& node, v1::StoreChanged changed);
  struct Room {
    size_t freed = 0, taken = 0;  // bytes
    size_t keys = 0;              // the number of new keys
  };
  // Adds to `room` the bytes that this value takes, and those that the key's former value frees.
  static void Count(const Run& run, const std::string& writer, const std::string& key, const std::string& value,
                    Room& room);
  absl::Status CheckRoom(const Run& run, const Room& wanted) const;

  Context& context_;
};

}  // namespace muster::scheduler
