// What a process wrote last, asked of its agent for `ms-ctl logs`.
#pragma once

#include <map>
#include <string>

#include "scheduler/core/context/context.h"

namespace muster::scheduler {

class LogInquiry {
 public:
  explicit LogInquiry(Context& context) : context_(context) {}

  void On(const LogsRequested& event);
  void On(const LogLinesReceived& event);

  // Of an inquiry that is under way; the handle of its deadline.
  bool IsUnderWay(uint64_t handle) const { return inquiries_.contains(handle); }
  // Its agent has not answered in time.
  void GiveUp(uint64_t handle);

 private:
  struct Inquiry {
    QueryId query = 0;
    v1::LogsReply reply;  // but for the log
    std::string job_id;
  };

  void Finish(uint64_t number, absl::Status status, const v1::SlotLog& log);

  Context& context_;
  std::map<uint64_t, Inquiry> inquiries_;  // by the number that the agent answers with
};

}  // namespace muster::scheduler
