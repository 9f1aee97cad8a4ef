#include "scheduler/http/api.h"

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/base/text.h"
#include "common/show/json.h"
#include "common/show/render.h"
#include "scheduler/core/views/job_map.h"
#include "scheduler/rpc/validation.h"

namespace muster::http {
namespace {

using scheduler::Answer;

constexpr char kPrefix[] = "/api/v1/";

absl::Status NoSuchPath() { return absl::NotFoundError("there is nothing under this path"); }
absl::Status NoSuchRunHere() { return absl::NotFoundError("this scheduler has no such job or run"); }

int StatusOfError(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return 400;
    case absl::StatusCode::kUnauthenticated:
      return 401;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kFailedPrecondition:
      return 409;
    default:
      return 503;
  }
}

// INVALID_ARGUMENT if the query has a parameter that is not in `known`.
absl::Status CheckNames(const Target& target, std::initializer_list<absl::string_view> known) {
  for (const auto& [name, value] : target.query) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return absl::InvalidArgumentError(absl::StrCat("there is no parameter ", Quoted(name), " here"));
    }
  }
  return absl::OkStatus();
}

template <typename Number>
absl::Status ReadNumber(const Target& target, const char* name, Number* out) {
  const auto found = target.query.find(name);
  if (found == target.query.end() || absl::SimpleAtoi(found->second, out)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " must be a whole number"));
}

template <typename Request>
absl::Status ReadPage(const Target& target, Request& request) {
  uint64_t run = 0;
  uint32_t offset = 0, limit = kMaxInAPage;
  for (const absl::Status& status : {CheckNames(target, {"run", "offset", "limit"}), ReadNumber(target, "run", &run),
                                     ReadNumber(target, "offset", &offset), ReadNumber(target, "limit", &limit)}) {
    if (!status.ok()) return status;
  }
  if (limit == 0 || limit > kMaxInAPage) {
    return absl::InvalidArgumentError(absl::StrCat("limit must be from 1 to ", kMaxInAPage));
  }
  request.set_run(run);
  request.set_offset(offset);
  request.set_limit(limit);
  return absl::OkStatus();
}

// Returns the response to a query: an error, or the JSON document that `text_of` makes of the Reply.
template <typename Reply, typename TextOf>
ResponsePtr Rendered(const Answer& answer, const TextOf& text_of) {
  if (!answer.status.ok()) return ApiError(answer.status);
  return MakeResponse(200, kJson, text_of(std::get<Reply>(answer.reply)));
}

// `must_be_there`: an answer without any run becomes the error NOT_FOUND.
absl::StatusOr<ApiQuestion> AskStatus(v1::StatusRequest request, bool must_be_there) {
  return ApiQuestion{must_be_there ? "status of one" : "status", std::move(request),
                     [=](const Answer& answer) -> ResponsePtr {
                       const auto* found = std::get_if<v1::StatusReply>(&answer.reply);
                       if (must_be_there && answer.status.ok() && found != nullptr && found->runs().empty()) {
                         return ApiError(NoSuchRunHere());
                       }
                       return Rendered<v1::StatusReply>(answer, StatusJson);
                     }};
}

absl::StatusOr<ApiQuestion> AskEvents(const Target& target, const ApiViewer& viewer) {
  v1::EventsRequest request;
  uint64_t after = 0;
  uint32_t limit = kMaxInAPage;
  for (const absl::Status& status : {CheckNames(target, {"job", "after", "limit"}), ReadNumber(target, "after", &after),
                                     ReadNumber(target, "limit", &limit)}) {
    if (!status.ok()) return status;
  }
  if (limit == 0 || limit > kMaxInAPage) {
    return absl::InvalidArgumentError(absl::StrCat("limit must be from 1 to ", kMaxInAPage));
  }
  const auto job = target.query.find("job");
  request.set_job_id(job == target.query.end() ? viewer.only_job : job->second);
  request.set_after(after);
  request.set_limit(limit);
  return ApiQuestion{"", std::move(request),
                     [](const Answer& answer) { return Rendered<v1::EventsReply>(answer, EventsJson); }};
}

// Writes the events as server-sent events (HTML standard). The id of each is its event number; its data is one line of
// JSON. EventLineJson adds a line break, so that an empty line ends each event.
ResponsePtr EventStream(const v1::EventsReply& reply) {
  Response response{200, kEventStream, "", 0};
  for (const v1::JobEvent& event : reply.events()) {
    absl::StrAppend(&response.body, "id: ", event.number(), "\ndata: ", EventLineJson(event), "\n");
    response.cursor = event.number();
  }
  return std::make_shared<const Response>(std::move(response));
}

absl::StatusOr<ApiQuestion> AskChanges(const Target& target, const ApiViewer& viewer) {
  if (absl::Status status = CheckNames(target, {"job", "after"}); !status.ok()) return status;
  absl::StatusOr<ApiQuestion> question = AskEvents(target, viewer);
  if (!question.ok()) return question;
  question->key = "changes";
  question->render = [](const Answer& answer) {
    return answer.status.ok() ? EventStream(std::get<v1::EventsReply>(answer.reply)) : ApiError(answer.status);
  };
  return question;
}

// Asks for the text that `ms-ctl why` prints.
absl::StatusOr<ApiQuestion> AskWhy(v1::StatusRequest request) {
  return ApiQuestion{
      "why", std::move(request), [=](const Answer& answer) -> ResponsePtr {
        if (!answer.status.ok()) return ApiError(answer.status);
        const v1::StatusReply& reply = std::get<v1::StatusReply>(answer.reply);
        if (reply.runs().empty()) return ApiError(NoSuchRunHere());
        nlohmann::ordered_json runs = nlohmann::ordered_json::array();
        for (const v1::RunStatus& run : reply.runs()) {
          runs.push_back(
              {{"job_id", run.job_id()}, {"run", run.run()}, {"text", RenderWhy(run, absl::LocalTimeZone())}});
        }
        return JsonResponse(200, {{"runs", runs}});
      }};
}

std::string JsonText(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Appends text instead of building a JSON document, which would be slow: the map may have 12,500 nodes.
ResponsePtr MapDocument(const scheduler::JobMap& map) {
  std::string out =
      absl::StrCat("{\"job_id\": ", JsonText(map.job_id), ", \"run\": ", map.run, ", \"round\": ", map.round,
                   ", \"names_version\": \"", absl::Hex(map.names_version, absl::kZeroPad16), "\",\n\"nodes\": \"",
                   map.nodes, "\",\n\"slots\": \"", map.slots, "\",\n\"names\": [");
  const char* separator = "\n";
  for (const scheduler::JobMap::Name& name : map.names) {
    absl::StrAppend(&out, separator, "{\"node_id\": ", JsonText(name.node_id),
                    ", \"host_name\": ", JsonText(name.host_name), ", \"label\": ", JsonText(name.label_path),
                    ", \"role\": \"", name.is_server ? "server" : "worker", "\", \"slots\": ", name.slots,
                    ", \"ranks\": [");
    for (size_t i = 0; i < name.ranks.size(); ++i) {
      absl::StrAppend(&out, i == 0 ? "" : ", ", name.ranks[i].first, ", ", name.ranks[i].second);
    }
    absl::StrAppend(&out, "]}");
    separator = ",\n";
  }
  absl::StrAppend(&out, "]}\n");
  return MakeResponse(200, kJson, EscapeJson(out));
}

absl::StatusOr<ApiQuestion> AskMap(const std::string& job, const Target& target) {
  scheduler::MapRequest request{.job = job};
  uint32_t names = 0;
  for (const absl::Status& status : {CheckNames(target, {"run", "names"}), ReadNumber(target, "run", &request.run),
                                     ReadNumber(target, "names", &names)}) {
    if (!status.ok()) return status;
  }
  if (names > 1) return absl::InvalidArgumentError("names must be 0 or 1");
  request.with_names = names == 1;
  return ApiQuestion{"", std::move(request), [](const Answer& answer) {
                       if (!answer.status.ok()) return ApiError(answer.status);
                       return MapDocument(*std::get<std::shared_ptr<const scheduler::JobMap>>(answer.reply));
                     }};
}

absl::StatusOr<ApiQuestion> AskJob(const std::string& job, const std::string& what, const Target& target) {
  if (what == "map") return AskMap(job, target);
  if (what.empty() || what == "why") {
    v1::StatusRequest request;
    uint64_t run = 0;
    if (absl::Status status = CheckNames(target, {"run"}); !status.ok()) return status;
    if (absl::Status status = ReadNumber(target, "run", &run); !status.ok()) return status;
    request.set_job_id(job);
    request.set_run(run);
    if (what == "why") return AskWhy(std::move(request));
    return AskStatus(std::move(request), /*must_be_there=*/true);
  }
  if (what == "nodes") {
    v1::NodesRequest request;
    request.set_job_id(job);
    if (absl::Status status = ReadPage(target, request); !status.ok()) return status;
    return ApiQuestion{"", std::move(request), [job](const Answer& answer) {
                         return Rendered<v1::NodesReply>(answer, [&](const v1::NodesReply& reply) {
                           return NodesJson({{job, reply}});
                         });
                       }};
  }
  if (what == "ranks") {
    v1::RanksRequest request;
    request.set_job_id(job);
    if (absl::Status status = ReadPage(target, request); !status.ok()) return status;
    return ApiQuestion{"", std::move(request), [job](const Answer& answer) {
                         return Rendered<v1::RanksReply>(answer, [&](const v1::RanksReply& reply) {
                           return RanksJson({{job, reply}});
                         });
                       }};
  }
  return NoSuchPath();
}

template <typename Request>
std::string TextOf(const Request& request) {
  return request.SerializeAsString();
}
std::string TextOf(const scheduler::MapRequest& request) {
  return absl::StrCat(request.run, " ", request.with_names ? 1 : 0, " ", request.job);
}

template <typename Request>
absl::Status Check(const Request& request) {
  return scheduler::CheckRequest(request);
}
absl::Status Check(const scheduler::MapRequest& request) {
  v1::StatusRequest of_job;
  of_job.set_job_id(request.job);
  return scheduler::CheckRequest(of_job);
}

absl::StatusOr<ApiQuestion> Ask(const std::vector<std::string>& parts, const Target& target, const ApiViewer& viewer) {
  if (parts.size() == 1 && parts[0] == "events") return AskEvents(target, viewer);
  if (parts.size() == 1 && parts[0] == "changes") return AskChanges(target, viewer);
  if (parts[0] != "jobs" || parts.size() > 3) return NoSuchPath();
  if (parts.size() > 1 && !parts[1].empty()) {
    return AskJob(parts[1], parts.size() > 2 ? parts[2] : "", target);
  }
  if (parts.size() > 1) return NoSuchPath();
  if (absl::Status status = CheckNames(target, {}); !status.ok()) return status;
  v1::StatusRequest request;
  request.set_job_id(viewer.only_job);
  return AskStatus(std::move(request), /*must_be_there=*/false);
}

}  // namespace

absl::StatusOr<ApiQuestion> ParseApi(const Target& target, const ApiViewer& viewer) {
  absl::string_view rest = target.path;
  if (!absl::ConsumePrefix(&rest, kPrefix)) return NoSuchPath();
  absl::StatusOr<ApiQuestion> question = Ask(absl::StrSplit(rest, '/'), target, viewer);
  if (!question.ok()) return question;
  const absl::Status checked = std::visit(
      [&](const auto& request) -> absl::Status {
        if constexpr (std::is_same_v<std::decay_t<decltype(request)>, scheduler::OverviewRequest>) {
          return absl::OkStatus();
        } else {
          if (!viewer.only_job.empty() && request.job_id() != viewer.only_job) {
            return absl::PermissionDeniedError(
                absl::StrCat("this certificate is for job ", Quoted(viewer.only_job), " only"));
          }
          // (Check the request before TextOf serializes it: protobuf would log each text that is not UTF-8.)
          if (absl::Status status = Check(request); !status.ok()) return status;
          question->key = absl::StrCat("api ", question->key, " ", question->request.index(), " ", TextOf(request));
          return absl::OkStatus();
        }
      },
      question->request);
  if (!checked.ok()) return checked;
  return question;
}

ResponsePtr JsonResponse(int status, const nlohmann::ordered_json& document) {
  return MakeResponse(
      status, kJson, EscapeJson(document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) + "\n");
}

ResponsePtr ApiError(const absl::Status& status) {
  return JsonResponse(StatusOfError(status), {{"error", std::string(status.message())}});
}

}  // namespace muster::http
