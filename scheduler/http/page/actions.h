// What the page may have done: stop and restart a job, drain and undrain a node, ask where processes stand and what
// they wrote last. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "muster/v1/admin.pb.h"
#include "scheduler/core/state/events.h"
#include "scheduler/http/request.h"
#include "scheduler/http/response.h"

namespace muster::http {

// Whether a POST was meant by its sender, and not made by a page of another site: PERMISSION_DENIED says why not.
// `by_cookie`: the cookie is all that it has to show, which a browser sends by itself.
absl::Status CheckOwnPage(const Request& request, bool by_cookie);

struct Action {
  std::string job_id;
  std::variant<v1::StopRequest, v1::SteerRequest, v1::StacksRequest, v1::LogsRequest> request;
  std::optional<uint32_t> seen_round;  // see SteerRequested
};

// POST /api/v1/jobs/JOB/VERB with {"reason", "run", "user"}, and
//
//   stop            no more: it is the same however often it is done
//   restart         "round": only if the job still is in that round, so that nobody restarts what has just restarted
//   drain, undrain  "node_id"
//
// These two change nothing and need no reason, but whoever may not stop a job may not see into its processes either:
//
//   stacks          {"run", "ranks"}: as `ms-ctl stacks`
//   logs            {"run", "rank", "lines"}: as `ms-ctl logs`
//
// `who` asks, for the events. NOT_FOUND: no such action. INVALID_ARGUMENT: what it says is wrong or not known here, or
// it gives no reason.
absl::StatusOr<Action> ParseAction(const Request& request, const std::string& who);

scheduler::Event EventOf(scheduler::QueryId query, const Action& action);
ResponsePtr AnswerOf(const Action& action, const scheduler::Answer& answer);

// The token in {"token": "…"}; empty: there is none.
std::string TokenIn(const std::string& body);

}  // namespace muster::http
