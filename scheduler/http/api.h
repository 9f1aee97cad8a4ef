// /api/v1/: the same JSON that ms-ctl prints with --json, from the same views. docs/api/openapi.json describes it.
// Pure.
//
//   /api/v1/jobs                        as `status`
//   /api/v1/jobs/JOB?run=               as `status --job JOB`
//   /api/v1/jobs/JOB/why?run=           as `why`
//   /api/v1/jobs/JOB/map?run=&names=    a character for each node and slot: see views/job_map.h
//   /api/v1/jobs/JOB/nodes?run=&offset=&limit=     as `nodes`, a page of it
//   /api/v1/jobs/JOB/ranks?run=&offset=&limit=     as `ranks`, a page of it
//   /api/v1/events?job=&after=&limit=   as `events`, those with a number above `after`
//   /api/v1/changes?job=&after=         the same as server-sent events, and those to come
//   /api/v1/counters                    as `counters`; Site answers it, since it needs nothing of the core
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
inline constexpr uint32_t kMaxInAPage = 500;  // nodes, ranks, events: takes the core only a moment

struct ApiViewer {
  std::string only_job;      // empty: all
  bool sees_output = false;  // output of processes: last lines, quotes of them, log paths
};

struct ApiQuestion {
  std::string key;
  scheduler::QueryRequest request;
  Questions::Render render;
};

// INVALID_ARGUMENT: a parameter is wrong. NOT_FOUND: no such path. PERMISSION_DENIED: another job.
absl::StatusOr<ApiQuestion> ParseApi(const Target& target, const ApiViewer& viewer);

ResponsePtr JsonResponse(int status, const nlohmann::ordered_json& document);

// {"error": "…"}
ResponsePtr ApiError(const absl::Status& status);

}  // namespace muster::http
