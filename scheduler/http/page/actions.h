// The actions of the web page: stop or restart a job, drain or undrain a node, and show the stacks and the last output
// of processes. Pure.
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

// Checks that our own page or a program sent this POST request, and not a page of another site (cross-site request
// forgery). PERMISSION_DENIED: the message gives the reason. `by_cookie`: only a cookie identifies the client. Browsers
// send cookies with every request, also with those of other sites' pages.
absl::Status CheckOwnPage(const Request& request, bool by_cookie);

struct Action {
  std::string job_id;
  std::variant<v1::StopRequest, v1::SteerRequest, v1::StacksRequest, v1::LogsRequest> request;
  std::optional<uint32_t> seen_round;  // the round that the user saw; see SteerRequested
};

// Reads the action in a POST of /api/v1/jobs/JOB/VERB. The body is a JSON object with these members; for the first four
// verbs also "reason" (required), "run" and "user":
//
//   stop            no other member
//   restart         "round": do it only if the job is still in that round, and has not just restarted
//   drain           "node_id", "now"
//   undrain         "node_id"
//   stacks          "run", "ranks": as `ms-ctl stacks`
//   logs            "run", "rank", "lines": as `ms-ctl logs`
//
// Stacks and logs change nothing. They still need the right to act, because they show the inside of processes.
//
// `who` names the sender in the job's events. NOT_FOUND: there is no such action. INVALID_ARGUMENT: a member is wrong
// or unknown, or the reason is missing.
absl::StatusOr<Action> ParseAction(const Request& request, const std::string& who);

scheduler::Event EventOf(scheduler::QueryId query, const Action& action);
ResponsePtr AnswerOf(const Action& action, const scheduler::Answer& answer);

// Returns the token in {"token": "…"}; empty: there is none.
std::string TokenIn(const std::string& body);

}  // namespace muster::http
