// The fences of one agent's ranks in a round, with the poller of the server's thread that starts them. Only this thread
// may use them; any thread may call the poller's Wake.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/net/mailbox.h"
#include "common/net/poller.h"
#include "common/store/job_store.h"
#include "worker_agent/gateway/chassis/allgather.h"
#include "worker_agent/gateway/chassis/round_layout.h"

namespace muster::agent {

class Fences {
 public:
  using Gathered = absl::StatusOr<Allgather::Blobs>;

  // `name` is the allgather's prefix for keys. `store` and `clock` must outlive the pending calls to the store.
  Fences(const RoundLayout& layout, JobStore& store, const Clock& clock, std::string name);
  ~Fences();

  // The server adds its sockets to this poller. It also wakes when there is a result to take.
  Poller& poller() { return inbox_->poller; }
  std::shared_ptr<Poller> shared_poller() { return {inbox_, &inbox_->poller}; }
  // Starts a fence; the previous one must be over. The first waits at most 10 minutes for the other agents, since all
  // ranks are starting. Later ones wait without a limit, since ranks may work for any time before they come.
  void Start(std::string bundle);
  std::vector<Gathered> TakeAll() { return inbox_->gathered.TakeAll(); }

 private:
  struct Inbox {  // outlives the Fences while a store call is pending
    Poller poller;
    Mailbox<Gathered> gathered{[this] { poller.Wake(); }};
  };

  const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  Allgather allgather_;
  bool had_one_ = false;
};

}  // namespace muster::agent
