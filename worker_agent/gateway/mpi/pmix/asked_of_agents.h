// The agent's part of direct modex (own_ranks.h), over the job's store. Each agent writes to the store the data that
// its ranks have put. It reads another agent's data when one of its own ranks asks for them. Only one thread may use
// these classes; any thread may call the poller's Wake.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/net/mailbox.h"
#include "common/net/poller.h"
#include "common/store/job_store.h"
#include "worker_agent/gateway/chassis/round_layout.h"

namespace muster::agent {

class DirectModex {
 public:
  static constexpr size_t kMaxBytes = 1024 * 1024;  // of one agent
  static constexpr size_t kMaxAsked = 4096;         // requests at once
  static constexpr absl::Duration kLimit = absl::Minutes(1);

  struct Answer {
    uint32_t rank = 0;
    absl::StatusOr<std::string> put;  // an error: the data were missing at the deadline, or are damaged
  };

  // `poller` wakes when there is an answer to take. `store` and `clock` must outlive the pending calls to the store.
  DirectModex(const RoundLayout& layout, JobStore& store, const Clock& clock, std::shared_ptr<Poller> poller);
  ~DirectModex();

  // Writes the data of this agent's ranks. `bundle` has for each rank its number, a length and its data. Call it once.
  void Give(const std::string& bundle);
  void Ask(uint32_t rank);
  std::vector<Answer> TakeAll();

 private:
  JobStore& store_;
  const Clock& clock_;
  const uint32_t own_;
  std::vector<uint32_t> agent_of_;  // by rank
  size_t asked_ = 0;
  const std::shared_ptr<Mailbox<Answer>> answers_;  // outlives this while a store call is pending
};

// Returns the data of `rank` from a bundle.
absl::StatusOr<std::string> PutBy(uint32_t rank, const std::string& bundle);

// The names that ranks publish for each other (MPI_Publish_name, PMIx_Publish), over the job's store. All ranks of the
// round see them, and they end with the round. Only one thread may use the class; any thread may call the poller's
// Wake.
class PublishedNames {
 public:
  static constexpr size_t kMaxNameBytes = 256;
  static constexpr size_t kMaxValueBytes = 4096;
  static constexpr size_t kMaxAsked = 256;       // requests at once
  static constexpr size_t kMaxPublished = 1024;  // by this agent's ranks in a round, including unpublished ones

  enum class Kind { kPublish, kLookup, kUnpublish };
  struct Request {
    Kind kind = Kind::kLookup;
    uint32_t token = 0;  // chosen by the caller; comes back with the answer
    std::string name;
    std::string value;  // of kPublish
  };
  // NOT_FOUND: the name is not published. ALREADY_EXISTS: it is published with another value. INVALID_ARGUMENT and
  // RESOURCE_EXHAUSTED: a limit above is exceeded. Others: the store's.
  struct Answer {
    uint32_t token = 0;
    absl::StatusOr<std::string> value;  // of kLookup; otherwise empty
  };

  // `poller` wakes when there is an answer to take. `store` must outlive the pending calls to it.
  PublishedNames(JobStore& store, std::shared_ptr<Poller> poller);
  ~PublishedNames();

  void Ask(Request request);
  std::vector<Answer> TakeAll();

 private:
  absl::Status Check(const Request& request) const;

  JobStore& store_;
  size_t asked_ = 0;
  size_t published_ = 0;
  const std::shared_ptr<Mailbox<Answer>> answers_;  // outlives this while a store call is pending
};

}  // namespace muster::agent
