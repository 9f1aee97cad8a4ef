// Effects that wait for the records before them to become durable. No I/O, no threads; owned by the loop's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "scheduler/core/state/events.h"

namespace muster::scheduler {

class Outbox {
 public:
  static constexpr size_t kDropAtLeast = 8'192;

  // What one Apply asks for right now.
  struct Immediate {
    std::vector<v1::Record> records;  // for the journal, in order
    std::vector<Send> urgent;         // to be carried out at once
  };

  // Takes the effects of one Apply: splits off what is due now, keeps the rest in order.
  //
  // An urgent desired state takes the place of older ones for the same stream that still wait here: released later,
  // they would undo it (the latest desired state wins). It waits itself while the closing of its round is not durable:
  // nothing of that round runs yet, and a scheduler that has forgotten the round after a crash would close another one
  // of that number, to which agents that heard of this one's end are deaf.
  //
  // `is_stalled` (a full disk may last for hours): the answer to a heartbeat of a node whose fence is armed goes at
  // once if it speaks of nothing that waits: no record of its own, no news before it on its stream. Without it the node
  // would end its processes. Of the answers that wait, only the latest on each stream is kept when there are many.
  Immediate Add(Effects effects, bool is_stalled = false);

  // Nobody is at the other end of the stream any more: what waits for it is dropped. Takes time in proportion to all
  // that waits.
  void Forget(StreamId stream);

  // Removes and returns, in order, everything whose records are durable: those numbered up to `durable`. Records are
  // numbered from 1 in the order in which Add returned them.
  Effects TakeReleased(uint64_t durable);

  // How many records Add has returned so far.
  uint64_t records() const { return records_; }
  bool empty() const { return waiting_.empty(); }

 private:
  struct Waiting {
    uint64_t after = 0;  // carried out once this many records are durable
    Effect effect;
    bool has_news = false;  // its own Apply wrote records before it
  };
  struct UndurableRound {
    std::string job_id;
    uint64_t run = 0;
    uint32_t round = 0;
    uint64_t record = 0;  // its number
  };
  bool IsOfUndurableRound(const Send& send) const;
  void DropSuperseded(const Effects& effects);
  bool MayOvertake(const Send& send, bool has_news) const;
  void DropOldAcknowledgements();

  std::deque<Waiting> waiting_;
  std::deque<UndurableRound> undurable_rounds_;  // a handful; in the order of their records
  size_t drop_at_ = kDropAtLeast;                // when so many effects wait
  uint64_t records_ = 0;
};

}  // namespace muster::scheduler
