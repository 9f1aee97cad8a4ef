// The messages that wait to be written on one stream. Bounded, because only the latest desired state and the latest
// acknowledgement matter. It has no lock of its own: its owner must lock it.
#pragma once

#include <deque>
#include <memory>

#include "muster/v1/rendezvous.pb.h"

namespace muster::scheduler {

class OutgoingQueue {
 public:
  using Message = std::shared_ptr<const v1::SchedulerMessage>;

  // Adds a message. Welcomes, refusals and probes are kept in their order. A desired state or an acknowledgement
  // replaces an earlier one that still waits. Returns false if kMaxKept welcomes, refusals and probes wait already,
  // because the peer doesn't read.
  bool Push(Message message);

  // Returns the next message to write, or null: kept messages first, then the acknowledgement, then the desired state.
  // Holds a desired state back until Take has returned a welcome: an urgent desired state may be pushed before the
  // welcome, but only from the welcome does an agent learn which run it belongs to.
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
