// Reads the records about one run's store, independently of the scheduler's Evolve. It is the reference for the answers
// to callers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "muster/v1/journal.pb.h"
#include "scheduler/core/state/events.h"

namespace muster::sim {

class StoreLedger {
 public:
  // Returns what the change contradicts; empty: nothing. `round`: the present one.
  std::string Take(const v1::StoreChanged& record, uint32_t round);

  // Returns what is wrong with a successful answer to this request; empty: nothing. It judges from this ledger only,
  // which must have all durable records.
  std::string CheckAnswer(const scheduler::StoreOperation& operation, const v1::StoreReply& reply) const;

 private:
  struct Change {
    uint64_t version = 0;
    v1::StoreChanged record;
  };
  // Returns the value that readers of that round saw after so many changes.
  std::optional<std::string> ValueAt(const std::string& key, uint32_t round, uint64_t version) const;
  const Change* Find(uint64_t incarnation, uint64_t number) const;

  std::string Check(const v1::StoreList& request, const v1::StoreReply& reply) const;
  std::string Check(const v1::StoreBatch& request, const v1::StoreReply& reply) const;
  std::string Check(const v1::ReplicasReport& /*request*/, const v1::StoreReply& /*reply*/) const {
    return "a report of replicas, which no agent here has";
  }
  template <typename Request>
  std::string Check(const Request& request, const v1::StoreReply& reply) const;

  uint64_t version_ = 0;
  std::map<std::string, std::vector<Change>> changes_;  // by key
  std::map<uint64_t, uint64_t> last_number_;            // by incarnation
};

}  // namespace muster::sim
