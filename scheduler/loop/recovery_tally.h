// Counts the records of a journal's replay, for the log line about it.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "muster/v1/journal.pb.h"
#include "scheduler/loop/loop.h"

namespace muster::scheduler {

class RecoveryTally {
 public:
  void Count(const v1::Record& record);
  Recovered found() const;  // without `took`, which the caller sets

 private:
  uint64_t records_ = 0;
  std::set<std::pair<std::string, uint64_t>> runs_;
};

}  // namespace muster::scheduler
