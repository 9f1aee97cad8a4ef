// The messages that wait to be written on one stream. Bounded, because only the latest desired state and the latest
// acknowledgement matter. Pure; its owner locks.
#pragma once

#include <deque>
#include <memory>

#include "muster/v1/rendezvous.pb.h"

namespace muster::scheduler {

class OutgoingQueue {
 public:
  using Message = std::shared_ptr<const v1::SchedulerMessage>;

  // Keeps welcomes, refusals and probes in their order; a desired state or an acknowledgement replaces the waiting one.
  // False if more than kMaxKept messages of the first sort wait: the peer doesn't read.
  bool Push(Message message);

  // Returns the next message to write, or null: kept messages first, then the acknowledgement, then the desired state.
  // Holds a desired state back until a welcome was taken. An urgent one may arrive before it, and an agent learns from
  // the welcome which run it belongs to.
  Message Take();

  bool empty() const { return kept_.empty() && !acknowledgement_ && !(desired_ && is_welcomed_); }

  static constexpr size_t kMaxKept = 8;

 private:
  std::deque<Message> kept_;
  Message acknowledgement_;
  Message desired_;
  bool is_welcomed_ = false;
};

}  // namespace muster::scheduler
