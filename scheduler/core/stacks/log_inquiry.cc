// A request for a rank's log fails in these cases:
//
//   no such job, run or rank                 NOT_FOUND, INVALID_ARGUMENT
//   no round has closed, or the run is over  FAILED_PRECONDITION, with other places to look at
//   the rank's node is not connected         FAILED_PRECONDITION; says when it was last seen, and to look at log files
//   its agent does not answer within 9 s     ABORTED; with DEADLINE_EXCEEDED, ms-ctl would blame the scheduler
#include "scheduler/core/stacks/log_inquiry.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/text.h"
#include "scheduler/core/views/views.h"

namespace muster::scheduler {
namespace {

constexpr absl::Duration kLogsWait = absl::Seconds(9);  // an admin call is answered within 10 s
constexpr size_t kMaxInquiries = 64;

struct Place {
  const Node* node = nullptr;
  uint32_t slot = 0;
};

Place PlaceOf(const Run& run, uint32_t rank) {
  for (const auto& [id, node] : run.nodes) {
    if (node.record().info.role() != v1::ROLE_WORKER || node.record().is_spare) continue;
    for (uint32_t slot = 0; slot < node.record().slots.size(); ++slot) {
      const SlotState& state = node.record().slots[slot];
      if (state.rank == rank && state.phase != SlotState::Phase::kIdle) return {&node, slot};
    }
  }
  return {};
}

// Returns why the rank's agent can't be asked; empty if it can.
std::string WhyNot(const Run& run, const Place& place, uint32_t rank, MonotonicTime now) {
  if (run.HasEnded()) {
    return absl::StrCat("run ", run.record().number, " of job ", run.record().job_id,
                        " has ended, and its agents have ended, too: `ms-ctl why ", run.record().job_id,
                        "` shows the last lines of what failed, and log files have all output");
  }
  if (place.node == nullptr) {
    return absl::StrCat("rank ", rank, " has no process: no node holds it now; `ms-ctl ranks` shows where it was");
  }
  const Node& node = *place.node;
  const std::string who =
      absl::StrCat("the agent of node ", node.record().id, " (", node.record().info.host_name(), ")");
  if (node.stream == 0) {
    return absl::StrCat(who, " is not connected",
                        node.was_seen ? absl::StrCat(", last seen ", FormatAge(now - node.last_seen), " ago") : "",
                        ": the log files on that machine may have what rank ", rank, " wrote");
  }
  return "";
}

}  // namespace

void LogInquiry::On(const LogsRequested& event) {
  const v1::LogsRequest& request = event.request;
  const auto refuse = [&](absl::Status status) {
    context_.effects.push_back(Answer{event.query, std::move(status), v1::LogsReply()});
  };
  const Run* run = FindNamed(context_.state, request.job_id(), request.run());
  if (run == nullptr) return refuse(NoSuchRun(request.job_id(), request.run()));
  const uint32_t workers = run->record().peers.worker_num();
  if (workers == 0) {
    return refuse(
        absl::FailedPreconditionError(absl::StrCat("run ", run->record().number, " of job ", request.job_id(),
                                                   " has no ranks yet: it is ", RunPhaseName(run->record()))));
  }
  if (request.rank() >= workers) {
    return refuse(absl::InvalidArgumentError(absl::StrCat("there is no rank ", request.rank(), " in job ",
                                                          request.job_id(), ": its workers are 0 to ", workers - 1)));
  }
  const Place place = PlaceOf(*run, request.rank());
  if (const std::string why = WhyNot(*run, place, request.rank(), context_.now.monotonic); !why.empty()) {
    return refuse(absl::FailedPreconditionError(why));
  }
  if (inquiries_.size() >= kMaxInquiries) {
    return refuse(absl::ResourceExhaustedError("the logs of other requests are still being gathered: try again"));
  }
  const uint64_t number = ++context_.last_handle;
  Inquiry& inquiry = inquiries_[number];
  inquiry.query = event.query;
  inquiry.job_id = request.job_id();
  inquiry.reply.set_run(run->record().number);
  inquiry.reply.set_rank(request.rank());
  inquiry.reply.set_node_id(place.node->record().id);
  inquiry.reply.set_host_name(place.node->record().info.host_name());
  Message message = context_.NewMessage();
  v1::LogQuery& ask = *message->mutable_log_query();
  ask.set_query(number);
  ask.set_slot(place.slot);
  ask.set_lines(request.lines() == 0 ? kMaxLogLines : request.lines());
  ask.set_round(request.round());
  ask.set_attempt(request.attempt());
  ask.set_after(request.after());
  context_.SendTo(place.node->stream, std::move(message));
  context_.deadlines.Set(number, context_.now.monotonic + kLogsWait);
}

void LogInquiry::On(const LogLinesReceived& event) {
  const auto it = inquiries_.find(event.lines.query());
  const auto attached = context_.streams.find(event.stream);
  if (it == inquiries_.end() || attached == context_.streams.end() || attached->second.is_challenger) return;
  const Run& run = *attached->second.run;
  const Inquiry& inquiry = it->second;
  if (run.record().job_id != inquiry.job_id || run.record().number != inquiry.reply.run() ||
      attached->second.node->record().id != inquiry.reply.node_id()) {
    return;
  }
  Finish(it->first, absl::OkStatus(), event.lines.log());
}

void LogInquiry::GiveUp(uint64_t handle) {
  const v1::LogsReply& reply = inquiries_.at(handle).reply;
  Finish(handle,
         absl::AbortedError(absl::StrCat("the agent of node ", reply.node_id(), " (", reply.host_name(),
                                         ") has not answered within ", FormatAge(kLogsWait))),
         v1::SlotLog());
}

void LogInquiry::Finish(uint64_t number, absl::Status status, const v1::SlotLog& log) {
  Inquiry inquiry = std::move(inquiries_.at(number));
  inquiries_.erase(number);
  context_.deadlines.Set(number, MonotonicTime::Never());
  *inquiry.reply.mutable_log() = log;
  context_.effects.push_back(Answer{inquiry.query, std::move(status), std::move(inquiry.reply)});
}

}  // namespace muster::scheduler
