// CheckOwnPage judges a POST by the first row that fits:
//
//   it lacks the field X-Muster-Action: 1             refused: another site's form can send everything except this
//   Sec-Fetch-Site is not same-origin                 refused: it comes from another site's page
//   Origin is not the host in the Host field          refused: it comes from another site's page
//   it has neither Sec-Fetch-Site nor Origin, and
//   only a cookie identifies the client               refused: a browser always sends Sec-Fetch-Site or Origin
//   anything else                                     accepted: it comes from our page, or from a program
#include "scheduler/http/page/actions.h"

#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/base/limits.h"
#include "common/base/text.h"
#include "common/show/json.h"
#include "scheduler/http/api.h"
#include "scheduler/rpc/validation.h"

namespace muster::http {
namespace {

using nlohmann::json;

// Returns the text of the member `name`; empty if it is missing. Sets `error` if the member is not text.
std::string TextIn(const json& document, const char* name, absl::Status* error) {
  const auto found = document.find(name);
  if (found == document.end()) return "";
  if (found->is_string()) return found->get<std::string>();
  *error = absl::InvalidArgumentError(absl::StrCat(name, " must be text"));
  return "";
}

bool FlagIn(const json& document, const char* name, absl::Status* error) {
  const auto found = document.find(name);
  if (found == document.end()) return false;
  if (found->is_boolean()) return found->get<bool>();
  *error = absl::InvalidArgumentError(absl::StrCat(name, " must be true or false"));
  return false;
}

template <typename Number>
std::optional<Number> NumberIn(const json& document, const char* name, absl::Status* error) {
  const auto found = document.find(name);
  if (found == document.end()) return std::nullopt;
  if (found->is_number_unsigned() && found->get<uint64_t>() <= std::numeric_limits<Number>::max()) {
    return found->get<Number>();
  }
  *error = absl::InvalidArgumentError(absl::StrCat(name, " must be a whole number"));
  return std::nullopt;
}

// Refuses an unknown member: its sender may have meant it to limit the action, so doing the action could do too much.
absl::Status CheckMembers(const json& document, const std::string& verb) {
  static const auto& kMembers = *new std::map<std::string, std::set<std::string>>{
      {"stop", {"run", "reason", "user"}},
      {"restart", {"run", "reason", "user", "round"}},
      {"drain", {"run", "reason", "user", "node_id", "now"}},
      {"undrain", {"run", "reason", "user", "node_id"}},
      {"stacks", {"run", "ranks"}},
      {"logs", {"run", "rank", "lines"}},
  };
  const auto known = kMembers.find(verb);
  if (known == kMembers.end()) {
    return absl::NotFoundError("there is no such action; there are stop, restart, drain, undrain, stacks and logs");
  }
  for (const auto& [name, value] : document.items()) {
    if (known->second.contains(name)) continue;
    return absl::InvalidArgumentError(absl::StrCat(verb, " has no member ", Quoted(name)));
  }
  return absl::OkStatus();
}

v1::SteerRequest::Action SteerActionOf(const std::string& verb) {
  if (verb == "restart") return v1::SteerRequest::RESTART;
  return verb == "drain" ? v1::SteerRequest::DRAIN : v1::SteerRequest::UNDRAIN;
}

template <typename Message>
absl::StatusOr<Action> Checked(Message message, const std::string& job, uint64_t run) {
  message.set_job_id(job);
  message.set_run(run);
  if (absl::Status status = scheduler::CheckRequest(message); !status.ok()) return status;
  return Action{job, std::move(message), std::nullopt};
}

absl::StatusOr<Action> ParseStacks(const json& document, const std::string& job, uint64_t run) {
  v1::StacksRequest request;
  if (const auto ranks = document.find("ranks"); ranks != document.end()) {
    // (Check the number of ranks before reading them.)
    if (!ranks->is_array() || ranks->size() > kMaxStackRanks) {
      return absl::InvalidArgumentError(
          absl::StrCat("ranks must be an array, of a length of at most ", kMaxStackRanks));
    }
    for (const json& rank : *ranks) {
      if (!rank.is_number_unsigned() || rank.get<uint64_t>() >= kMaxWorkers) {
        return absl::InvalidArgumentError("ranks must be whole numbers");
      }
      request.add_ranks(rank.get<uint32_t>());
    }
  }
  return Checked(std::move(request), job, run);
}

absl::StatusOr<Action> ParseLogs(const json& document, const std::string& job, uint64_t run) {
  absl::Status error;
  const auto rank = NumberIn<uint32_t>(document, "rank", &error), lines = NumberIn<uint32_t>(document, "lines", &error);
  if (!error.ok()) return error;
  if (!rank) return absl::InvalidArgumentError("name the rank: {\"rank\": 3}");
  v1::LogsRequest request;
  request.set_rank(*rank);
  request.set_lines(lines.value_or(0));
  return Checked(std::move(request), job, run);
}

// `who` and the reason appear in the job's events.
absl::StatusOr<Action> ParseChange(const json& document, const std::string& job, const std::string& verb, uint64_t run,
                                   const std::string& who) {
  absl::Status error;
  const std::string reason = TextIn(document, "reason", &error), node_id = TextIn(document, "node_id", &error);
  std::string user = TextIn(document, "user", &error);
  const auto round = NumberIn<uint32_t>(document, "round", &error);
  const bool now = FlagIn(document, "now", &error);
  if (!error.ok()) return error;
  if (absl::StripAsciiWhitespace(reason).empty()) {
    return absl::InvalidArgumentError(
        "the reason is missing: it is shown to the users of the job, and stays in the events");
  }
  user = user.empty() ? who : absl::StrCat(user, " (", who, ")");
  if (verb == "stop") {
    v1::StopRequest stop;
    stop.set_reason(reason);
    stop.set_user(user);
    return Checked(std::move(stop), job, run);
  }
  v1::SteerRequest steer;
  steer.set_action(SteerActionOf(verb));
  steer.set_node_id(node_id);
  steer.set_reason(reason);
  steer.set_user(user);
  steer.set_now(now);
  absl::StatusOr<Action> checked = Checked(std::move(steer), job, run);
  if (checked.ok()) checked->seen_round = round;
  return checked;
}

}  // namespace

absl::Status CheckOwnPage(const Request& request, bool by_cookie) {
  if (!request.has_action_mark) {
    return absl::PermissionDeniedError("a request that changes something needs the header X-Muster-Action: 1");
  }
  if (!request.fetch_site.empty() && request.fetch_site != "same-origin") {
    return absl::PermissionDeniedError("the request comes from a page of another site");
  }
  absl::string_view origin = request.origin;
  if (origin.empty()) {
    if (!by_cookie || !request.fetch_site.empty()) return absl::OkStatus();
    return absl::PermissionDeniedError("a request with only a cookie needs the header Origin");
  }
  if (!absl::ConsumePrefix(&origin, "https://")) absl::ConsumePrefix(&origin, "http://");
  if (absl::EqualsIgnoreCase(origin, request.host)) return absl::OkStatus();
  return absl::PermissionDeniedError("the request comes from a page of another site");
}

absl::StatusOr<Action> ParseAction(const Request& request, const std::string& who) {
  absl::string_view rest = request.target.path;
  const std::vector<std::string> parts =
      absl::ConsumePrefix(&rest, "/api/v1/jobs/") ? absl::StrSplit(rest, '/') : std::vector<std::string>();
  if (parts.size() != 2) return absl::NotFoundError("there is no action under this path");
  const std::string &job = parts[0], &verb = parts[1];
  if (!request.target.query.empty()) {
    return absl::InvalidArgumentError(
        "an action takes no query: put it into the body, {\"reason\": \"…\", \"run\": 1}");
  }
  const json document = json::parse(request.body, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) return absl::InvalidArgumentError("the body must be a JSON object: {\"reason\": \"…\"}");
  absl::Status error = CheckMembers(document, verb);
  if (!error.ok()) return error;
  const uint64_t run = NumberIn<uint64_t>(document, "run", &error).value_or(0);
  if (!error.ok()) return error;
  if (verb == "stacks") return ParseStacks(document, job, run);
  if (verb == "logs") return ParseLogs(document, job, run);
  return ParseChange(document, job, verb, run, who);
}

scheduler::Event EventOf(scheduler::QueryId query, const Action& action) {
  if (const auto* stop = std::get_if<v1::StopRequest>(&action.request)) return scheduler::StopRequested{query, *stop};
  if (const auto* of = std::get_if<v1::StacksRequest>(&action.request)) return scheduler::StacksRequested{query, *of};
  if (const auto* of = std::get_if<v1::LogsRequest>(&action.request)) return scheduler::LogsRequested{query, *of};
  return scheduler::SteerRequested{query, std::get<v1::SteerRequest>(action.request), action.seen_round};
}

ResponsePtr AnswerOf(const Action& action, const scheduler::Answer& answer) {
  if (!answer.status.ok()) return ApiError(answer.status);
  if (const auto* stop = std::get_if<v1::StopReply>(&answer.reply)) {
    return MakeResponse(200, kJson, StopJson(action.job_id, *stop));
  }
  if (const auto* steer = std::get_if<v1::SteerReply>(&answer.reply)) {
    return MakeResponse(200, kJson, SteerJson(action.job_id, *steer));
  }
  if (const auto* stacks = std::get_if<v1::StacksReply>(&answer.reply)) {
    return MakeResponse(200, kJson, StacksJson(action.job_id, *stacks));
  }
  if (const auto* logs = std::get_if<v1::LogsReply>(&answer.reply)) {
    return MakeResponse(200, kJson, LogsJson(action.job_id, *logs));
  }
  return ApiError(absl::InternalError("the scheduler gave an answer of the wrong kind"));
}

std::string TokenIn(const std::string& body) {
  const json document = json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) return "";
  const auto found = document.find("token");
  return found != document.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace muster::http
