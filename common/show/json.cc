#include "common/show/json.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
#include "common/base/text.h"
#include "common/causes/failure_kind.h"
#include "common/show/words.h"

namespace muster {
namespace {

using Json = nlohmann::ordered_json;

// A peer's text may contain bytes that are no UTF-8. This replaces them and never throws.
std::string Dump(const Json& json, int indent) {
  return EscapeJson(json.dump(indent, ' ', false, Json::error_handler_t::replace)) + "\n";
}

std::string Document(const Json& json) { return Dump(json, 2); }

Json Lines(const google::protobuf::RepeatedPtrField<std::string>& lines) {
  Json out = Json::array();
  for (const std::string& line : lines) out.push_back(line);
  return out;
}

Json Settings(const v1::JobSettings& s) {
  Json out;
  out["worker_num"] = s.has_worker_num() ? Json(s.worker_num()) : Json();
  out["server_num"] = s.has_server_num() ? Json(s.server_num()) : Json();
  out["enable_recovery"] = s.has_enable_recovery() ? Json(s.enable_recovery()) : Json();
  out["hccl_cm_init"] = s.has_hccl_cm_init() ? Json(s.hccl_cm_init()) : Json();
  out["topo_timeout_ms"] = s.has_topo_timeout_ms() ? Json(s.topo_timeout_ms()) : Json();
  out["rank_table_digest"] = s.has_rank_table_digest() ? Json(s.rank_table_digest()) : Json();
  out["max_restarts"] = s.has_max_restarts() ? Json(s.max_restarts()) : Json();
  out["restart_scope"] = s.has_restart_scope() ? Json(s.restart_scope()) : Json();
  return out;
}

Json Waiting(const v1::WaitStatus& w) {
  return Json{{"workers_here", w.workers_here()},
              {"workers_needed", w.workers_needed()},
              {"servers_here", w.servers_here()},
              {"servers_needed", w.servers_needed()},
              {"time_left_ms", w.time_left_ms() < 0 ? Json() : Json(w.time_left_ms())},
              {"text", w.text()}};
}

Json CauseOf(const v1::Cause& c) {
  return Json{{"kind", CauseWord(c.kind())},
              {"failure_kind", std::string(KindWord(KindOf(c)))},
              {"reason", c.reason().empty() ? Json() : Json(c.reason())},
              {"text", c.text()},
              {"rank", c.has_rank() ? Json(c.rank()) : Json()},
              {"role", c.role() == v1::ROLE_UNSPECIFIED ? Json() : Json(RoleWord(c.role()))},
              {"node_id", c.node_id()},
              {"host_name", c.host_name()},
              {"exit_code", c.exit_code()},
              {"signal", c.signal()},
              {"last_lines", Lines(c.last_lines())},
              {"log_file", c.log_file()},
              {"remedy", c.remedy()}};
}

Json OutcomeOf(const v1::Outcome& o) {
  return Json{{"succeeded", o.succeeded()},
              {"ended_unix_ms", o.ended_unix_ms()},
              {"cause", o.has_cause() ? CauseOf(o.cause()) : Json()}};
}

Json Progress(const v1::ProgressStatus& p) {
  Json ranks = Json::array();
  for (uint32_t rank : p.slowest_ranks()) ranks.push_back(rank);
  return Json{{"watched", p.watched()},
              {"slowest_step", p.has_slowest_step() ? Json(p.slowest_step()) : Json()},
              {"fastest_step", p.has_fastest_step() ? Json(p.fastest_step()) : Json()},
              {"slowest_ranks", ranks},
              {"slowest_count", p.slowest_count()},
              {"since_progress_ms", p.since_progress_ms()}};
}

Json Run(const v1::RunStatus& r) {
  return Json{{"job_id", r.job_id()},
              {"run", r.run()},
              {"phase", PhaseWord(r)},
              {"round", r.round()},
              {"restart_count", r.restart_count()},
              {"last_abort", r.has_last_abort() ? CauseOf(r.last_abort()) : Json()},
              {"progress", r.has_progress() ? Progress(r.progress()) : Json()},
              {"nodes_here", r.nodes_here()},
              {"nodes_disconnected", r.nodes_disconnected()},
              {"spares", r.spares()},
              {"processes_running", r.processes_running()},
              {"processes_done", r.processes_done()},
              {"opened_unix_ms", r.opened_unix_ms()},
              {"age_ms", r.age_ms()},
              {"opened_by", r.opened_by()},
              {"settings", Settings(r.settings())},
              {"waiting", r.has_waiting() ? Waiting(r.waiting()) : Json()},
              {"silent_nodes", r.silent_nodes()},
              {"not_watched", r.not_watched()},
              {"halted", r.halted()},
              {"stall", r.has_stall() ? CauseOf(r.stall()) : Json()},
              {"outcome", r.has_outcome() ? OutcomeOf(r.outcome()) : Json()}};
}

Json Node(const v1::NodeStatus& n) {
  Json ranks = Json::array();
  for (uint32_t rank : n.ranks()) ranks.push_back(rank);
  return Json{{"node_id", n.node_id()},
              {"state", n.state()},
              {"role", RoleWord(n.role())},
              {"host_name", n.host_name()},
              {"machine_id", n.machine_id()},
              {"address", n.address()},
              {"slots", n.slots()},
              {"ranks", ranks},
              {"last_seen_ms", n.last_seen_ms() < 0 ? Json() : Json(n.last_seen_ms())},
              {"is_spare", n.is_spare()},
              {"incarnation", absl::StrFormat("%016x", n.incarnation())},
              {"pid", n.pid()},
              {"version", n.version()},
              {"note", n.note()},
              {"draining", n.draining().empty() ? Json() : Json(n.draining())}};
}

Json Rank(const v1::RankStatus& r) {
  return Json{{"rank", r.rank()},
              {"role", RoleWord(r.role())},
              {"node_id", r.node_id()},
              {"host_name", r.host_name()},
              {"address", r.address()},
              {"local_rank", r.local_rank()},
              {"node_rank", r.node_rank()},
              {"device_id", r.device_id()},
              {"device_address", r.device_address()},
              {"state", r.state()},
              {"pid", r.pid() == 0 ? Json() : Json(r.pid())},
              {"ring_port", r.ring_port()},
              {"step", r.has_step() ? Json(r.step()) : Json()},
              {"since_progress_ms", r.has_since_progress_ms() ? Json(r.since_progress_ms()) : Json()},
              {"steps_per_second", r.has_steps_per_second() ? Json(r.steps_per_second()) : Json()},
              {"since_output_ms", r.has_since_output_ms() ? Json(r.since_output_ms()) : Json()},
              {"cpu_percent", r.has_cpu_percent() ? Json(r.cpu_percent()) : Json()},
              {"process_state", r.process_state().empty() ? Json() : Json(r.process_state())}};
}

Json Event(const v1::JobEvent& e) {
  return Json{{"number", e.number()},
              {"unix_ms", e.unix_ms()},
              {"job_id", e.job_id()},
              {"run", e.run()},
              {"kind", e.kind()},
              {"text", e.text()},
              {"last_lines", Lines(e.last_lines())}};
}

Json Lighthouse(const v1::LighthouseStatus& one) {
  return Json{{"name", one.name()},
              {"quorum_id", one.quorum_id() == 0 ? Json() : Json(one.quorum_id())},
              {"members", Lines(one.members())},
              {"members_count", one.members_count()},
              {"formed_ms", one.formed_ms() < 0 ? Json() : Json(one.formed_ms())},
              {"alive", one.alive()},
              {"asking", one.asking()},
              {"waiting", one.waiting().empty() ? Json() : Json(one.waiting())}};
}

Json Logs(const std::string& job_id, const v1::LogsReply& reply) {
  const v1::SlotLog& log = reply.log();
  return Json{{"job_id", job_id},
              {"run", reply.run()},
              {"rank", reply.rank()},
              {"node_id", reply.node_id()},
              {"host_name", reply.host_name()},
              {"round", log.round()},
              {"attempt", log.attempt()},
              {"pid", log.pid() == 0 ? Json() : Json(log.pid())},
              {"has_ended", log.has_ended()},
              {"has_gap", log.has_gap()},
              {"text", log.text()},
              {"unfinished", log.unfinished()},
              {"end", log.end()},
              {"log_file", log.log_file().empty() ? Json() : Json(log.log_file())},
              {"note", log.note().empty() ? Json() : Json(log.note())}};
}

}  // namespace

std::string StatusJson(const v1::StatusReply& reply) {
  Json runs = Json::array();
  for (const v1::RunStatus& run : reply.runs()) runs.push_back(Run(run));
  Json lighthouses = Json::array();
  for (const v1::LighthouseStatus& one : reply.lighthouses()) lighthouses.push_back(Lighthouse(one));
  return Document(Json{{"cluster_id", reply.cluster_id()},
                       {"term", reply.term()},
                       {"version", reply.version()},
                       {"up_ms", reply.up_ms()},
                       {"is_draining", reply.is_draining()},
                       {"runs", runs},
                       {"lighthouses", lighthouses}});
}

std::string NodesJson(const std::vector<NodesOfJob>& jobs) {
  Json out = Json::array();
  for (const NodesOfJob& job : jobs) {
    Json nodes = Json::array();
    for (const v1::NodeStatus& node : job.reply.nodes()) nodes.push_back(Node(node));
    out.push_back(
        Json{{"job_id", job.job_id}, {"run", job.reply.run()}, {"total", job.reply.total()}, {"nodes", nodes}});
  }
  return Document(Json{{"jobs", out}});
}

std::string RanksJson(const std::vector<RanksOfJob>& jobs) {
  Json out = Json::array();
  for (const RanksOfJob& job : jobs) {
    Json ranks = Json::array();
    for (const v1::RankStatus& rank : job.reply.ranks()) ranks.push_back(Rank(rank));
    out.push_back(Json{{"job_id", job.job_id},
                       {"run", job.reply.run()},
                       {"round", job.reply.round()},
                       {"master_address", job.reply.master_address()},
                       {"master_port", job.reply.master_port()},
                       {"total", job.reply.total()},
                       {"ranks", ranks}});
  }
  return Document(Json{{"jobs", out}});
}

std::string EventsJson(const v1::EventsReply& reply) {
  Json events = Json::array();
  for (const v1::JobEvent& event : reply.events()) events.push_back(Event(event));
  return Document(Json{{"events", events}});
}

std::string StacksJson(const std::string& job_id, const v1::StacksReply& reply) {
  Json ranks = Json::array();
  for (const v1::RankStack& rank : reply.ranks()) {
    const v1::SlotStack& stack = rank.stack();
    ranks.push_back(Json{{"rank", rank.rank()},
                         {"node_id", rank.node_id()},
                         {"host_name", rank.host_name()},
                         {"pid", stack.pid() == 0 ? Json() : Json(stack.pid())},
                         {"method", stack.method().empty() ? Json() : Json(stack.method())},
                         {"text", stack.text()},
                         {"is_stopped", stack.is_stopped()},
                         {"note", stack.note().empty() ? Json() : Json(stack.note())}});
  }
  return Document(Json{{"job_id", job_id}, {"run", reply.run()}, {"round", reply.round()}, {"ranks", ranks}});
}

std::string LogsJson(const std::string& job_id, const v1::LogsReply& reply) { return Document(Logs(job_id, reply)); }

std::string CountersJson(const v1::CountersReply& reply) {
  Json counters = Json::object();
  for (const v1::Counter& counter : reply.counters()) counters[counter.name()] = counter.value();
  const auto time_or_null = [](int64_t unix_ms) { return unix_ms == 0 ? Json() : Json(unix_ms); };
  return Document(Json{{"counters", counters},
                       {"certificate_ends_unix_ms", time_or_null(reply.certificate_ends_unix_ms())},
                       {"certificate_fingerprint", reply.certificate_fingerprint()},
                       {"revocation_list_ends_unix_ms", time_or_null(reply.revocation_list_ends_unix_ms())}});
}

std::string SteerJson(const std::string& job_id, const v1::SteerReply& reply) {
  return Document(Json{{"job_id", job_id}, {"run", reply.run()}, {"text", reply.text()}});
}

std::string StopJson(const std::string& job_id, const v1::StopReply& reply) {
  return Document(Json{{"job_id", job_id}, {"run", reply.run()}, {"phase", PhaseWord(reply.phase())}});
}

std::string EventLineJson(const v1::JobEvent& event) { return Dump(Json{{"event", Event(event)}}, -1); }

std::string RunLineJson(const v1::RunStatus& run) { return Dump(Json{{"run", Run(run)}}, -1); }

std::string LogsLineJson(const std::string& job_id, const v1::LogsReply& reply) {
  return Dump(Logs(job_id, reply), -1);
}

}  // namespace muster
