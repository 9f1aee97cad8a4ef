// Effects that wait until the records before them are durable. No I/O, no threads; owned by the loop's thread.
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

  // The parts of one Apply's effects that are due now.
  struct Immediate {
    std::vector<v1::Record> records;  // for the journal, in order
    std::vector<Send> urgent;         // to send at once
  };

  // Takes the effects of one Apply: returns those due now, keeps the rest in order.
  //
  // An urgent desired state replaces older ones for the same stream that still wait here: sent after it, they would
  // undo it (the latest desired state wins). The urgent one itself waits while the record that closed its round is not
  // durable; nothing of that round runs yet. Otherwise agents might hear that the round is over, and the scheduler
  // might forget the round in a crash. It would then close another round with the same number, which those agents would
  // ignore.
  //
  // `is_stalled` (a full disk may last for hours): the answer to a heartbeat of a node with an armed fence is sent at
  // once, if it depends on nothing that waits: no record of its own, no earlier news on its stream. Otherwise the node
  // would end its processes. If many answers wait, only the latest on each stream is kept.
  Immediate Add(Effects effects, bool is_stalled = false);

  // The stream is closed: drops what waits for it. Takes time in proportion to all that waits.
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
  std::deque<UndurableRound> undurable_rounds_;  // a handful; in the order of their records
  size_t drop_at_ = kDropAtLeast;                // at this number of waiting effects
  uint64_t records_ = 0;
};

}  // namespace muster::scheduler
