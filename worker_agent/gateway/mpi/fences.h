// The fences of one agent's ranks in a round, and the poller of the server thread that starts them. Everything belongs
// to that thread, except the poller's Wake.
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

  // `name` is the allgather's. `store` and `clock` must outlive the pending calls to the store.
  Fences(const RoundLayout& layout, JobStore& store, const Clock& clock, std::string name);
  ~Fences();

  // The poller, also for the server's sockets. It wakes when there is a result to take.
  Poller& poller() { return inbox_->poller; }
  std::shared_ptr<Poller> shared_poller() { return {inbox_, &inbox_->poller}; }
  // Starts a fence; one at a time. The first waits 10 minutes for the others, since all ranks are starting; later ones
  // wait as long as ranks work.
  void Start(std::string bundle);
  std::vector<Gathered> TakeAll() { return inbox_->gathered.TakeAll(); }

 private:
  struct Inbox {  // outlives this while a store call is pending
    Poller poller;
    Mailbox<Gathered> gathered{[this] { poller.Wake(); }};
  };

  const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  Allgather allgather_;
  bool had_one_ = false;
};

}  // namespace muster::agent
