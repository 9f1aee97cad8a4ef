#include "tests/golden/events.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/base/limits.h"
#include "common/hosts/compare.h"
#include "common/hosts/endpoints.h"
#include "tests/unit/scheduler_core/reported_output.h"

namespace muster::golden {
namespace {

using scheduler::Event;

void ParseSettings(Command& command, v1::JobSettings& settings) {
  if (command.Has("worker_num")) settings.set_worker_num(static_cast<uint32_t>(command.Number("worker_num", 0)));
  if (command.Has("server_num")) settings.set_server_num(static_cast<uint32_t>(command.Number("server_num", 0)));
  if (command.Has("recovery")) settings.set_enable_recovery(command.Number("recovery", 0) != 0);
  if (command.Has("cm_init")) settings.set_hccl_cm_init(command.Number("cm_init", 0) != 0);
  if (command.Has("topo_timeout")) {
    settings.set_topo_timeout_ms(absl::ToInt64Milliseconds(command.Seconds("topo_timeout", absl::ZeroDuration())));
  }
  if (command.Has("max_restarts")) settings.set_max_restarts(static_cast<uint32_t>(command.Number("max_restarts", 0)));
  if (command.Has("progress_timeout")) {
    settings.set_progress_timeout_ms(
        static_cast<uint64_t>(absl::ToInt64Milliseconds(command.Seconds("progress_timeout", absl::ZeroDuration()))));
  }
  if (command.Has("first_progress_timeout")) {
    settings.set_first_progress_timeout_ms(static_cast<uint64_t>(
        absl::ToInt64Milliseconds(command.Seconds("first_progress_timeout", absl::ZeroDuration()))));
  }
  if (command.Has("stall_action")) settings.set_stall_action(command.Text("stall_action", ""));
  if (command.Has("scope")) settings.set_restart_scope(command.Text("scope", ""));
  if (command.Has("table_digest")) settings.set_rank_table_digest(command.Text("table_digest", ""));
}

// Fills in the facts that matter in a script; the rest follows from the node id and the stream.
v1::NodeInfo ParseNode(Command& command, uint64_t stream) {
  v1::NodeInfo info;
  const std::string id = command.Text("node", "");
  info.set_role(command.Text("role", "worker") == "server" ? v1::ROLE_SERVER : v1::ROLE_WORKER);
  info.set_host_name(command.Text("host", absl::StrCat("host-", id)));
  info.set_machine_id(command.Text("machine", info.host_name()));
  if (!command.HasWord("no_lock")) info.set_lock_token(absl::StrCat(info.machine_id(), "/", id));
  info.set_lock_count(command.Number("lock_count", 0));
  info.set_lock_start(command.Number("start", 0));
  for (const auto& start : absl::StrSplit(command.Text("ended", ""), ',', absl::SkipEmpty())) {
    info.add_ended_starts(static_cast<uint64_t>(std::atoi(std::string(start).c_str())));
  }
  info.set_former_start_doubt(command.Text("doubt", ""));
  info.set_ends_with_all_four(command.HasWord("all_four"));
  info.set_address(command.Text("addr", ""));
  info.set_other_address(command.Text("other_addr", ""));
  for (uint64_t slot = 0; slot < command.Number("slots", 1); ++slot) {
    info.add_slots()->set_ring_port(static_cast<uint32_t>(7000 + stream * 10 + slot));
  }
  info.set_spare(command.HasWord("spare"));
  info.set_shares_job(command.HasWord("shared"));
  info.set_is_fence_guarded(!command.HasWord("unguarded"));
  if (command.Has("node_rank")) info.set_node_rank(static_cast<uint32_t>(command.Number("node_rank", 0)));
  info.set_label_path(command.Text("label", ""));
  for (const auto& rank : absl::StrSplit(command.Text("table", ""), ',', absl::SkipEmpty())) {
    info.add_table_ranks(static_cast<uint32_t>(std::atoi(std::string(rank).c_str())));
  }
  info.set_wanted_master_address(command.Text("master_addr", ""));
  AddEndpointFacts({{kMasterAddress, command.Text("master_addr", "")}, {kMasterPort, command.Text("master_port", "")}},
                   info);
  info.set_wanted_master_port(static_cast<uint32_t>(command.Number("master_port", 0)));
  info.set_master_port(static_cast<uint32_t>(command.Number("offered_port", 20000 + stream)));
  const auto add_fact = [&info](const char* name, const std::string& value) {
    v1::HostFact& fact = *info.add_host_facts();
    fact.set_name(name);
    fact.set_value(value);
  };
  if (command.HasWord("checks")) add_fact(kFactNodeCheck, "on");
  if (command.Has("score")) add_fact(kFactScore, command.Text("score", ""));
  if (command.HasWord("excludes")) add_fact(kFactStragglers, kExcluded);
  info.set_pid(command.Number("pid", 100 + stream));
  info.set_user(command.Text("user", "ann"));
  return info;
}

Event ParseJoin(Command& command) {
  scheduler::JoinRequested event;
  event.stream = StreamNumber(command.Word(0));
  event.peer_address = command.Text("from", absl::StrCat("10.0.0.", event.stream));
  event.reached_at = command.Text("reached_at", "");
  v1::Join& join = event.join;
  event.identity = command.Text("identity", "");
  join.set_protocol_version(kProtocolVersion);
  join.set_job_id(command.Text("job", "default"));
  join.set_node_id(command.Text("node", ""));
  join.set_is_assigned_id(command.Number("kept", 0) != 0);
  join.set_incarnation(command.Number("inc", event.stream));
  join.set_connect_seq(command.Number("seq", 1));
  join.set_run(command.Number("run", 0));
  join.set_term(command.Number("term", 0));
  join.set_round(static_cast<uint32_t>(command.Number("round", 0)));
  join.set_events_through(command.Number("acknowledged", 0));
  join.set_cluster_id(command.Text("cluster", ""));
  ParseSettings(command, *join.mutable_settings());
  *join.mutable_node() = ParseNode(command, event.stream);
  join.mutable_node()->set_certificate_fingerprint(command.Text("certificate", ""));
  return event;
}

// "2:r1:slot0:attempt0:exit1:stopped": the event's number, then its facts, in any order.
void ParseFacts(const std::string& kind, const std::string& facts, v1::NodeEvent& event) {
  bool is_first = true;
  for (const auto& piece : absl::StrSplit(facts, ':')) {
    const std::string word(piece);
    const auto number = [&](size_t at) { return std::atoi(word.c_str() + at); };
    const auto starts = [&](const char* prefix) { return word.rfind(prefix, 0) == 0; };
    if (std::exchange(is_first, false)) {
      event.set_number(static_cast<uint64_t>(number(0)));
      if (kind == "leaving") event.mutable_leaving()->set_is_quiet(true);
    } else if (kind == "leaving" && starts("sig")) {
      event.mutable_leaving()->set_signal(number(3));
    } else if (kind == "leaving" && starts("soon")) {
      event.mutable_leaving()->set_is_quiet(false);
    } else if (kind == "quit" && starts("r")) {
      event.mutable_quit()->set_round(static_cast<uint32_t>(number(1)));
    } else if (kind == "checked" && starts("r")) {
      event.mutable_checked()->set_round(static_cast<uint32_t>(number(1)));
    } else if (kind == "started") {
      if (starts("r")) event.mutable_started()->set_round(static_cast<uint32_t>(number(1)));
      if (starts("slot")) event.mutable_started()->set_slot(static_cast<uint32_t>(number(4)));
      if (starts("attempt")) event.mutable_started()->set_attempt(static_cast<uint32_t>(number(7)));
      if (starts("pid")) event.mutable_started()->set_pid(static_cast<uint64_t>(number(3)));
    } else if (kind == "ended") {
      v1::ProcessEnded& ended = *event.mutable_ended();
      if (starts("r")) ended.set_round(static_cast<uint32_t>(number(1)));
      if (starts("slot")) ended.set_slot(static_cast<uint32_t>(number(4)));
      if (starts("attempt")) ended.set_attempt(static_cast<uint32_t>(number(7)));
      if (starts("exit")) ended.set_exit_code(number(4));
      if (starts("sig")) ended.set_signal(number(3));
      if (starts("core")) ended.set_core_dumped(true);
      if (starts("stopped")) ended.set_was_stopped(true);
      if (starts("leaves")) ended.set_has_remains(true);
    }
  }
}

// "r1:slot0:attempt0:step17:still600": without step, a touch only.
void ParseProgress(const std::string& facts, v1::Report& report) {
  v1::SlotProgress& progress = *report.add_progress();
  for (const auto& piece : absl::StrSplit(facts, ':')) {
    const std::string word(piece);
    const auto number = [&](size_t at) { return static_cast<uint32_t>(std::atoi(word.c_str() + at)); };
    const auto starts = [&](const char* prefix) { return word.rfind(prefix, 0) == 0; };
    if (starts("r")) report.set_progress_round(number(1));
    if (starts("slot")) progress.set_slot(number(4));
    if (starts("attempt")) progress.set_attempt(number(7));
    if (starts("step")) progress.set_step(number(4));
    if (starts("still")) progress.set_since_progress_ms(uint64_t{1000} * number(5));
  }
}

// "slot0:pid7:python3:D:12"
void ParseStuck(const std::string& facts, v1::Report& report) {
  const std::vector<std::string> pieces = absl::StrSplit(facts, ':');
  v1::StuckProcess& stuck = *report.add_stuck();
  stuck.set_slot(static_cast<uint32_t>(std::atoi(pieces.at(0).c_str() + 4)));
  stuck.set_pid(static_cast<uint64_t>(std::atoi(pieces.at(1).c_str() + 3)));
  stuck.set_name(pieces.at(2));
  stuck.set_state(pieces.at(3));
  stuck.set_stuck_ms(uint64_t{1000} * static_cast<uint64_t>(std::atoi(pieces.at(4).c_str())));
}

Event ParseReport(Command& command) {
  scheduler::ReportReceived event;
  event.stream = StreamNumber(command.Word(0));
  event.report.set_heartbeat_seq(command.Number("hb", 1));
  event.report.set_is_settled(command.HasWord("settled"));
  event.report.set_armed_fence_ms(
      static_cast<uint32_t>(absl::ToInt64Milliseconds(command.Seconds("armed", absl::ZeroDuration()))));
  for (const auto& [key, value] : command.options()) {
    v1::NodeEvent* last =
        event.report.events().empty() ? nullptr : event.report.mutable_events(event.report.events_size() - 1);
    if (key == "started" || key == "ended" || key == "leaving" || key == "quit" || key == "checked") {
      ParseFacts(key, value, *event.report.add_events());
    } else if (key == "progress") {
      ParseProgress(value, event.report);
    } else if (key == "stuck") {
      ParseStuck(value, event.report);
    } else if (last == nullptr) {
      continue;
    } else if (key == "age") {
      last->set_age_ms(absl::ToInt64Milliseconds(ParseSeconds(value)));
    } else if (key == "err") {
      last->mutable_ended()->set_error_message(value);
    } else if (key == "launch") {
      last->mutable_ended()->set_launch_error(value);
    } else if (key == "reason") {
      last->mutable_leaving()->set_reason(value);
    } else if (key == "kernel") {
      last->mutable_ended()->add_kernel_lines(value);
    } else if (key == "last") {
      ReportOutput(value, '|', *last->mutable_ended());
    } else {
      continue;
    }
    command.MarkRead(key);
  }
  return event;
}

Event ParseHeartbeat(Command& command) {
  scheduler::HeartbeatReceived event;
  event.stream = StreamNumber(command.Word(0));
  event.heartbeat_seq = command.Number("hb", 1);
  event.armed_fence_ms =
      static_cast<uint32_t>(absl::ToInt64Milliseconds(command.Seconds("armed", absl::ZeroDuration())));
  return event;
}

Event ParseLastReport(Command& command, const std::string& cluster_id) {
  scheduler::LastReportReceived event;
  event.identity = command.Text("identity", "");
  event.last_report.set_cluster_id(command.Text("cluster", cluster_id));
  event.last_report.set_job_id(command.Text("job", "default"));
  event.last_report.set_run(command.Number("run", 1));
  event.last_report.set_node_id(command.Text("node", ""));
  event.last_report.set_incarnation(command.Number("inc", 0));
  event.last_report.set_signal(static_cast<int32_t>(command.Number("sig", 0)));
  event.last_report.set_exit_code(static_cast<int32_t>(command.Number("exit", 0)));
  return event;
}

template <typename Request>
Request ParsePage(Command& command) {
  Request request;
  request.set_job_id(command.Text("job", ""));
  if constexpr (!std::is_same_v<Request, v1::EventsRequest>) request.set_run(command.Number("run", 0));
  if constexpr (!std::is_same_v<Request, v1::StatusRequest>) {
    request.set_limit(static_cast<uint32_t>(command.Number("limit", 0)));
  }
  return request;
}

std::optional<Event> ParseQuery(Command& command, uint64_t query) {
  scheduler::QueryReceived event;
  event.query = query;
  const std::string what = command.Word(0);
  if (what == "status") {
    event.request = ParsePage<v1::StatusRequest>(command);
  } else if (what == "nodes") {
    v1::NodesRequest request = ParsePage<v1::NodesRequest>(command);
    request.set_with_missing(command.HasWord("with_missing"));
    event.request = std::move(request);
  } else if (what == "ranks") {
    event.request = ParsePage<v1::RanksRequest>(command);
  } else if (what == "events") {
    event.request = ParsePage<v1::EventsRequest>(command);
  } else {
    return std::nullopt;
  }
  return event;
}

Event ParseStop(Command& command, uint64_t query) {
  scheduler::StopRequested event;
  event.query = query;
  event.request.set_job_id(command.Text("job", "default"));
  event.request.set_run(command.Number("run", 0));
  event.request.set_user(command.Text("user", ""));
  event.request.set_reason(command.Text("reason", ""));
  return event;
}

Event ParseSteer(Command& command, uint64_t query) {
  scheduler::SteerRequested event;
  event.query = query;
  event.request.set_job_id(command.Text("job", "default"));
  event.request.set_run(command.Number("run", 0));
  event.request.set_user(command.Text("user", ""));
  event.request.set_node_id(command.Text("node", ""));
  event.request.set_now(command.HasWord("now"));
  if (const uint64_t seen = command.Number("seen", 0); seen != 0) event.seen_round = static_cast<uint32_t>(seen);
  event.request.set_action(command.HasWord("drain")          ? v1::SteerRequest::DRAIN
                           : command.HasWord("undrain")      ? v1::SteerRequest::UNDRAIN
                           : command.HasWord("unknown")      ? static_cast<v1::SteerRequest::Action>(99)
                           : event.request.node_id().empty() ? v1::SteerRequest::RESTART
                                                             : v1::SteerRequest::FENCE);
  return event;
}

Event ParseStacks(Command& command, uint64_t query) {
  scheduler::StacksRequested event;
  event.query = query;
  event.request.set_job_id(command.Text("job", "default"));
  for (const auto& rank : absl::StrSplit(command.Text("ranks", ""), ',', absl::SkipEmpty())) {
    event.request.add_ranks(static_cast<uint32_t>(std::atoi(std::string(rank).c_str())));
  }
  return event;
}

// "traces s1 query=4 slot=0 text=… [stopped]": one slot's stack.
Event ParseTraces(Command& command) {
  scheduler::StackTracesReceived event;
  event.stream = StreamNumber(command.Word(0));
  event.traces.set_query(command.Number("query", 0));
  v1::SlotStack& stack = *event.traces.add_stacks();
  stack.set_slot(static_cast<uint32_t>(command.Number("slot", 0)));
  stack.set_pid(command.Number("pid", 0));
  stack.set_method(command.Text("method", "py-spy"));
  stack.set_text(absl::StrReplaceAll(command.Text("text", ""), {{"|", "\n"}}));
  stack.set_is_stopped(command.HasWord("stopped"));
  return event;
}

// "logs rank=1 [lines=…] [round=… attempt=… after=…]"
Event ParseLogs(Command& command, uint64_t query) {
  scheduler::LogsRequested event;
  event.query = query;
  event.request.set_job_id(command.Text("job", "default"));
  event.request.set_rank(static_cast<uint32_t>(command.Number("rank", 0)));
  event.request.set_lines(static_cast<uint32_t>(command.Number("lines", 0)));
  event.request.set_round(static_cast<uint32_t>(command.Number("round", 0)));
  event.request.set_attempt(static_cast<uint32_t>(command.Number("attempt", 0)));
  event.request.set_after(command.Number("after", 0));
  return event;
}

// "log_lines s1 query=4 text=…"
Event ParseLogLines(Command& command) {
  scheduler::LogLinesReceived event;
  event.stream = StreamNumber(command.Word(0));
  event.lines.set_query(command.Number("query", 0));
  event.lines.mutable_log()->set_text(absl::StrReplaceAll(command.Text("text", ""), {{"|", "\n"}}));
  return event;
}

v1::ValueLifetime ParseLifetime(Command& command) {
  return command.HasWord("for_the_run") ? v1::LIFETIME_RUN : v1::LIFETIME_ROUND;
}

template <typename Request>
Request ParseStoreRequest(Command& command) {
  Request request;
  v1::StoreCaller& caller = *request.mutable_caller();
  caller.set_job_id(command.Text("job", "default"));
  caller.set_run(command.Number("run", 1));
  caller.set_round(static_cast<uint32_t>(command.Number("round", 1)));
  caller.set_node_id(command.Text("node", "a"));
  caller.set_incarnation(command.Number("inc", 1));
  request.set_key(command.Text("key", "x"));
  constexpr bool is_read = std::is_same_v<Request, v1::StoreGet> || std::is_same_v<Request, v1::StoreWait>;
  if constexpr (!is_read) request.set_number(command.Number("number", 0));
  return request;
}

// "store add node=a inc=1 key=x delta=2 number=3 for_the_run"
std::optional<Event> ParseStore(Command& command, uint64_t query) {
  scheduler::StoreRequested event;
  event.query = query;
  event.identity = command.Text("identity", "");
  const std::string what = command.Word(0);
  if (what == "get") {
    event.operation = ParseStoreRequest<v1::StoreGet>(command);
  } else if (what == "wait") {
    auto request = ParseStoreRequest<v1::StoreWait>(command);
    request.set_limit_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(command.Seconds("limit", absl::Seconds(5)))));
    event.operation = std::move(request);
  } else if (what == "set") {
    auto request = ParseStoreRequest<v1::StoreSet>(command);
    request.set_value(command.Text("value", ""));
    request.set_lifetime(ParseLifetime(command));
    event.operation = std::move(request);
  } else if (what == "delete") {
    event.operation = ParseStoreRequest<v1::StoreDelete>(command);
  } else if (what == "add") {
    auto request = ParseStoreRequest<v1::StoreAdd>(command);
    request.set_delta(std::atoll(command.Text("delta", "1").c_str()));
    request.set_lifetime(ParseLifetime(command));
    event.operation = std::move(request);
  } else if (what == "swap") {
    auto request = ParseStoreRequest<v1::StoreCompareAndSet>(command);
    if (command.Has("expected")) request.set_expected(command.Text("expected", ""));
    request.set_desired(command.Text("desired", ""));
    request.set_lifetime(ParseLifetime(command));
    event.operation = std::move(request);
  } else {
    return std::nullopt;
  }
  return event;
}

}  // namespace

scheduler::CoreOptions ParseOptions(Command& command) {
  scheduler::CoreOptions options;
  ParseSettings(command, command.HasWord("defaults") ? options.own.defaults : options.own.rules);
  options.lease = command.Seconds("lease", options.lease);
  options.disconnect_grace = command.Seconds("grace", options.disconnect_grace);
  options.stop_timeout = command.Seconds("stop_timeout", options.stop_timeout);
  if (command.Has("fence_timeout")) options.fence_timeout = command.Seconds("fence_timeout", absl::ZeroDuration());
  if (command.Has("rejoin")) options.rejoin_timeout = command.Seconds("rejoin", absl::ZeroDuration());
  if (command.Has("heartbeat")) options.heartbeat_interval = command.Seconds("heartbeat", absl::ZeroDuration());
  options.keep_runs_for = command.Seconds("keep_runs_for", options.keep_runs_for);
  options.is_once = command.HasWord("once");
  options.own_address = command.Text("own_address", "");
  options.fence_needs_all_four = command.HasWord("fence_needs_all_four");
  options.version = "1.0";
  return options;
}

std::optional<Event> ParseEvent(Command& command, const std::string& cluster_id, uint64_t& query) {
  const std::string& verb = command.verb();
  if (verb == "join") return ParseJoin(command);
  if (verb == "report") return ParseReport(command);
  if (verb == "heartbeat") return ParseHeartbeat(command);
  if (verb == "close") return scheduler::StreamClosed{StreamNumber(command.Word(0))};
  if (verb == "last_report") return ParseLastReport(command, cluster_id);
  if (verb == "probe_answer") {
    return scheduler::ProbeAnswered{StreamNumber(command.Word(0)), command.Number("probe", 1)};
  }
  if (verb == "stop") return ParseStop(command, ++query);
  if (verb == "stacks") return ParseStacks(command, ++query);
  if (verb == "traces") return ParseTraces(command);
  if (verb == "logs") return ParseLogs(command, ++query);
  if (verb == "log_lines") return ParseLogLines(command);
  if (verb == "steer") return ParseSteer(command, ++query);
  if (verb == "store") return ParseStore(command, ++query);
  if (verb == "query") return ParseQuery(command, ++query);
  if (verb == "drain") return scheduler::DrainRequested{command.HasWord("fails_runs")};
  if (verb == "late") return scheduler::LoopWasLate{ParseSeconds(command.Word(0))};
  if (verb == "tick") return scheduler::Tick{};
  return std::nullopt;
}

}  // namespace muster::golden
