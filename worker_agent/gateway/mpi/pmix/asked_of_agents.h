// The agent's part of direct modex (own_ranks.h), over the job's store: each agent leaves there what its ranks have
// put, and reads that of another agent when one of its ranks asks. All of one thread, but for the poller's Wake.
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
  static constexpr size_t kMaxAsked = 4096;         // at once
  static constexpr absl::Duration kLimit = absl::Minutes(1);

  struct Answer {
    uint32_t rank = 0;
    absl::StatusOr<std::string> put;  // an error: it was not there in time, or is damaged
  };

  // `poller` wakes when there is something to take. `store` and `clock` must outlive what this has asked the store.
  DirectModex(const RoundLayout& layout, JobStore& store, const Clock& clock, std::shared_ptr<Poller> poller);
  ~DirectModex();

  // For each own rank: its number, a length and what it has put. Once.
  void Give(const std::string& bundle);
  void Ask(uint32_t rank);
  std::vector<Answer> TakeAll();

 private:
  JobStore& store_;
  const Clock& clock_;
  const uint32_t own_;
  std::vector<uint32_t> agent_of_;  // by rank
  size_t asked_ = 0;
  const std::shared_ptr<Mailbox<Answer>> answers_;  // outlives this for as long as the store owes an answer
};

// What `rank` has put, of a bundle.
absl::StatusOr<std::string> PutBy(uint32_t rank, const std::string& bundle);

// The names that ranks publish for each other (MPI_Publish_name, PMIx_Publish), over the job's store: they are seen in
// the whole round, and gone with it. All of one thread, but for the poller's Wake.
class PublishedNames {
 public:
  static constexpr size_t kMaxNameBytes = 256;
  static constexpr size_t kMaxValueBytes = 4096;
  static constexpr size_t kMaxAsked = 256;       // at once
  static constexpr size_t kMaxPublished = 1024;  // by this agent's ranks in a round, taken back or not

  enum class Kind { kPublish, kLookup, kUnpublish };
  struct Request {
    Kind kind = Kind::kLookup;
    uint32_t token = 0;  // the asker's own; comes back with the answer
    std::string name;
    std::string value;  // of kPublish
  };
  // NOT_FOUND: nobody has published it. ALREADY_EXISTS: somebody has, another value. INVALID_ARGUMENT, and
  // RESOURCE_EXHAUSTED: beyond the limits above. Others: as the store's.
  struct Answer {
    uint32_t token = 0;
    absl::StatusOr<std::string> value;  // of kLookup, else empty
  };

  // `poller` wakes when there is something to take. `store` must outlive what it was asked.
  PublishedNames(JobStore& store, std::shared_ptr<Poller> poller);
  ~PublishedNames();

  void Ask(Request request);
  std::vector<Answer> TakeAll();

 private:
  absl::Status Check(const Request& request) const;

  JobStore& store_;
  size_t asked_ = 0;
  size_t published_ = 0;
  const std::shared_ptr<Mailbox<Answer>> answers_;  // outlives this for as long as the store owes an answer
};

}  // namespace muster::agent
