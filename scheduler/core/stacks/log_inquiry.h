// Asks an agent for the last output of one of its processes, for `ms-ctl logs`.
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

  // True if the handle is that of an inquiry's deadline.
  bool IsUnderWay(uint64_t handle) const { return inquiries_.contains(handle); }
  // Ends an inquiry that its agent has not answered in time.
  void GiveUp(uint64_t handle);

 private:
  struct Inquiry {
    QueryId query = 0;
    v1::LogsReply reply;  // still without the log
    std::string job_id;
  };

  void Finish(uint64_t number, absl::Status status, const v1::SlotLog& log);

  Context& context_;
  std::map<uint64_t, Inquiry> inquiries_;  // by the number that the agent returns with its answer
};

}  // namespace muster::scheduler
