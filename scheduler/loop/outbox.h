// Holds effects until the records before them are durable. It has no I/O and no threads; the loop's thread owns it.
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
  // While fewer effects than this wait, they are not searched for old answers to heartbeats.
  static constexpr size_t kDropAtLeast = 8'192;

  // The parts of one Apply's effects that are due now.
  struct Immediate {
    std::vector<v1::Record> records;  // for the journal, in order
    std::vector<Send> urgent;         // to send at once
  };

  // Takes the effects of one Apply. Returns the effects that are due now, and keeps the rest in order.
  //
  // An urgent desired state replaces older desired states that still wait for the same stream. If they were sent after
  // it, they would undo it, because an agent follows the latest one.
  //
  // An urgent desired state itself waits while the record that closed its round is not durable; no process of that
  // round runs yet. Suppose that it were sent at once and the scheduler then crashed. The scheduler would not know the
  // round, and would close another one with the same number. Agents would ignore the new one, because they believe the
  // round of this number to be over.
  //
  // `is_stalled` means that the disk is full, perhaps for hours. A node with an armed fence ends its processes if its
  // heartbeats stay unanswered. So an answer to a heartbeat is sent at once if it depends on nothing that waits: its
  // own Apply wrote no record, and no earlier news waits for its stream.
  //
  // If many answers to heartbeats wait, only the latest on each stream is kept.
  Immediate Add(Effects effects, bool is_stalled = false);

  // Drops all messages for this stream, which has closed. The time that this takes grows with the number of all waiting
  // effects.
  void Forget(StreamId stream);

  // Removes and returns, in order, all effects that wait only for records numbered up to `durable`. Records are
  // numbered from 1 in the order in which Add returned them.
  Effects TakeReleased(uint64_t durable);

  // The number of records that Add has returned so far.
  uint64_t records() const { return records_; }
  bool empty() const { return waiting_.empty(); }

 private:
  struct Waiting {
    uint64_t after = 0;  // sent once this many records are durable
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
  std::deque<UndurableRound> undurable_rounds_;  // only a few; in the order of their records
  size_t drop_at_ = kDropAtLeast;                // DropOldAcknowledgements runs at this number of waiting effects
  uint64_t records_ = 0;
};

}  // namespace muster::scheduler
