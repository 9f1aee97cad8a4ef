// /api/v1/: the same JSON that ms-ctl prints with --json, from the same views. docs/api/openapi.json describes it.
// Pure.
//
//   /api/v1/jobs                        the answer of `ms-ctl status`
//   /api/v1/jobs/JOB?run=               the answer of `ms-ctl status --job JOB`
//   /api/v1/jobs/JOB/why?run=           the answer of `ms-ctl why`
//   /api/v1/jobs/JOB/map?run=&names=    one character for each node and slot: see views/job_map.h
//   /api/v1/jobs/JOB/nodes?run=&offset=&limit=     `limit` nodes of `ms-ctl nodes`, from number `offset` on
//   /api/v1/jobs/JOB/ranks?run=&offset=&limit=     `limit` ranks of `ms-ctl ranks`, from number `offset` on
//   /api/v1/events?job=&after=&limit=   the events of `ms-ctl events` with a number above `after`
//   /api/v1/changes?job=&after=         the same events as server-sent events, and then each new event as it happens
//   /api/v1/counters                    the answer of `ms-ctl counters`; Site answers it without the core
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "scheduler/core/state/events.h"
#include "scheduler/http/questions.h"
#include "scheduler/http/request.h"

namespace muster::http {

inline constexpr char kChangesPath[] = "/api/v1/changes";
inline constexpr uint32_t kMaxInAPage = 500;  // nodes, ranks or events; so an answer keeps the core busy only briefly

struct ApiViewer {
  std::string only_job;  // the viewer may see only this job; empty: all jobs
};

struct ApiQuestion {
  std::string key;
  scheduler::QueryRequest request;
  Questions::Render render;
};

// Returns the query to the core that a GET of `target` needs. INVALID_ARGUMENT: a parameter is wrong. NOT_FOUND: there
// is no such path. PERMISSION_DENIED: the viewer may not see this job.
absl::StatusOr<ApiQuestion> ParseApi(const Target& target, const ApiViewer& viewer);

ResponsePtr JsonResponse(int status, const nlohmann::ordered_json& document);

// Returns {"error": "…"} with the HTTP status that fits `status`.
ResponsePtr ApiError(const absl::Status& status);

}  // namespace muster::http
