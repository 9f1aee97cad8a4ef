// The consequences of the rules of --expect and --fail_on:
//
//   a rule of --expect matches              the agent hears of it, at most every kOutputReportInterval
//   a rule of --fail_on matches             the process is stopped, and its end counts as a failure with that line
//   the same, but it has ended by itself    its end counts as a failure with that line
//   the same, while it was being stopped    nothing: its end was asked for
#include "common/base/limits.h"
#include "worker_agent/keeper/supervisor/supervisor.h"
#include "worker_agent/keeper/text.h"

namespace muster::agent {

std::unique_ptr<RuleMatcher> Supervisor::NewMatcher() {
  return options_.rules == nullptr ? nullptr : std::make_unique<RuleMatcher>(options_.rules, match_time_);
}

void Supervisor::ReportOutput(Process& process, MonotonicTime now) {
  if (NextOutputReport(process) > now) return;
  TakeFailingLine(process, now);
  process.next_output_report = now + kOutputReportInterval;
  const RuleMatcher::Found& found = process.output->matcher()->found();
  if (found == process.reported || process.has_ended) return;
  process.reported = found;
  OutputSeen seen;
  seen.key = process.spec.key;
  seen.changes = found.changes;
  if (options_.rules->expects()) seen.unseen = found.unseen;
  seen.has_step = found.step.has_value();
  seen.step = found.step.value_or(0);
  seen.format = found.format == nullptr ? "" : found.format;
  report_(seen);
}

// Must be called before the process's exit is judged: after a failing line, an exit with 0 becomes one with 1.
void Supervisor::TakeFailingLine(Process& process, MonotonicTime now) {
  RuleMatcher* matcher = process.output == nullptr ? nullptr : process.output->matcher();
  if (matcher == nullptr) return;
  if (process.has_ended) matcher->Finish();
  if (matcher->failure().empty()) return;
  ProcessEnd& end = process.ended.end;
  if (end.failing_line.empty()) {
    if (process.is_stop_requested) return;
    end.failing_line = CleanText(matcher->failure(), kMaxLastLineBytes);
    if (end.failing_line.empty()) end.failing_line = "(only control characters)";
    BeginStop(process, now, options_.stop_timeout);
  }
  if (!process.has_ended) return;
  end.was_stopped = false;  // the order was ours
  if (end.exit.IsSuccess()) end.exit.code = 1;
}

MonotonicTime Supervisor::NextOutputReport(const Process& process) const {
  const RuleMatcher* matcher = process.output == nullptr ? nullptr : process.output->matcher();
  if (matcher == nullptr || process.has_ended) return MonotonicTime::Never();
  const bool is_failing = !matcher->failure().empty() && !process.is_stop_requested;
  if (is_failing) return MonotonicTime();
  return matcher->found() == process.reported ? MonotonicTime::Never() : process.next_output_report;
}

}  // namespace muster::agent
