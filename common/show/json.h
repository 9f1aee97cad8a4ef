// The admin service's replies as JSON documents: the output of `--json`, and part of the interface for scripts.
//
// Names are the protocol's field names (snake_case). Numbers are JSON numbers, also those with 64 bits. Only
// incarnations, which use all 64 bits, are hexadecimal text, because many readers keep only 53 bits. Phases and roles
// are lower-case words. Members that don't apply are null. Later versions may add members, but don't change the meaning
// of any. Every document ends with a line feed.
#pragma once

#include <string>
#include <vector>

#include "common/show/render.h"
#include "muster/v1/admin.pb.h"

namespace muster {

std::string StatusJson(const v1::StatusReply& reply);
// {"jobs": [{"job_id", "run", "total", "nodes": […]}]}: `total` counts all nodes, even if `nodes` is only one page of
// them.
std::string NodesJson(const std::vector<NodesOfJob>& jobs);
// {"jobs": [{"job_id", "run", "round", "master_address", "master_port", "total", "ranks": […]}]}
std::string RanksJson(const std::vector<RanksOfJob>& jobs);
// {"events": […]}
std::string EventsJson(const v1::EventsReply& reply);
std::string CountersJson(const v1::CountersReply& reply);
// {"job_id", "run", "round", "ranks": [{"rank", "node_id", "host_name", "pid", "method", "text", "note"}]}
std::string StacksJson(const std::string& job_id, const v1::StacksReply& reply);
// {"job_id", "run", "rank", "node_id", "host_name", "round", "attempt", "pid", "has_ended", "has_gap", "text",
// "unfinished", "end", "log_file", "note"}; "text" may have several lines.
std::string LogsJson(const std::string& job_id, const v1::LogsReply& reply);
std::string SteerJson(const std::string& job_id, const v1::SteerReply& reply);
// {"job_id", "run", "phase"}: `phase` is the phase before the stop.
std::string StopJson(const std::string& job_id, const v1::StopReply& reply);

// These documents of `watch --json` and `logs -f --json` stand on one line each. watch prints {"event": {…}} for each
// event and {"run": {…}} at the end.
std::string EventLineJson(const v1::JobEvent& event);
std::string RunLineJson(const v1::RunStatus& run);
std::string LogsLineJson(const std::string& job_id, const v1::LogsReply& reply);

}  // namespace muster
