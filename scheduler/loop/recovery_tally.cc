#include "scheduler/loop/recovery_tally.h"

namespace muster::scheduler {

void RecoveryTally::Count(const v1::Record& record) {
  ++records_;
  if (record.has_run_opened()) runs_.emplace(record.run_opened().job_id(), record.run_opened().run());
  if (record.has_run_forgotten()) runs_.erase({record.run_forgotten().job_id(), record.run_forgotten().run()});
  if (!record.has_snapshot()) return;
  runs_.clear();
  for (const v1::JobSnapshot& job : record.snapshot().jobs()) {
    for (const v1::RunSnapshot& run : job.runs()) runs_.emplace(job.job_id(), run.number());
  }
}

Recovered RecoveryTally::found() const {
  Recovered found;
  found.records = records_;
  found.runs = runs_.size();
  std::set<std::string> jobs;
  for (const auto& [job_id, run] : runs_) jobs.insert(job_id);
  found.jobs = jobs.size();
  return found;
}

}  // namespace muster::scheduler
