// The page's actions: stop and restart a job, drain and undrain a node, and show where processes stand and their last
// output. Pure.
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

// Checks that the sender meant a POST, and that no page of another site made it; PERMISSION_DENIED gives the reason.
// `by_cookie`: it has only a cookie, which a browser sends by itself.
absl::Status CheckOwnPage(const Request& request, bool by_cookie);

struct Action {
  std::string job_id;
  std::variant<v1::StopRequest, v1::SteerRequest, v1::StacksRequest, v1::LogsRequest> request;
  std::optional<uint32_t> seen_round;  // see SteerRequested
};

// POST /api/v1/jobs/JOB/VERB with {"reason", "run", "user"}, and
//
//   stop            no more: repeating it changes nothing
//   restart         "round": only if the job is still in that round, so that no one restarts a job that just restarted
//   drain, undrain  "node_id"
//
// These two change nothing and need no reason, but they need the same rights: they show the inside of processes.
//
//   stacks          {"run", "ranks"}: as `ms-ctl stacks`
//   logs            {"run", "rank", "lines"}: as `ms-ctl logs`
//
// `who` is the sender, for the events. NOT_FOUND: no such action. INVALID_ARGUMENT: a member is wrong or unknown here,
// or the reason is missing.
absl::StatusOr<Action> ParseAction(const Request& request, const std::string& who);

scheduler::Event EventOf(scheduler::QueryId query, const Action& action);
ResponsePtr AnswerOf(const Action& action, const scheduler::Answer& answer);

// Returns the token in {"token": "…"}; empty: there is none.
std::string TokenIn(const std::string& body);

}  // namespace muster::http
