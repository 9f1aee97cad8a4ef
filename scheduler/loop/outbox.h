// Effects that wait for the records before them to become durable. No I/O, no threads; owned by the loop's thread.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "scheduler/core/events.h"

namespace muster::scheduler {

class Outbox {
 public:
  // What one Apply asks for right now.
  struct Immediate {
    std::vector<v1::Record> records;  // for the journal, in order
    std::vector<Send> urgent;         // to be carried out at once
  };

  // Takes the effects of one Apply: splits off what is due now, keeps the rest in order.
  //
  // An urgent desired state takes the place of older ones for the same stream that still wait here: released later,
  // they would undo it (the latest desired state wins).
  Immediate Add(Effects effects);

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
  };
  void DropSuperseded(const Effects& effects);

  std::deque<Waiting> waiting_;
  uint64_t records_ = 0;
};

}  // namespace muster::scheduler
