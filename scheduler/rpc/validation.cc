#include "scheduler/rpc/validation.h"

#include <set>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/reason.h"
#include "common/base/text.h"
#include "common/hosts/compare.h"
#include "common/store/store_limits.h"
#include "scheduler/rpc/field_checks.h"

namespace muster::scheduler {

namespace {

constexpr uint32_t kMaxNodesPage = 1'000;
constexpr uint32_t kMaxRanksPage = 10'000;
constexpr uint32_t kMaxEventsPage = 1'000;
constexpr int kMaxSignal = 64;  // Linux's SIGRTMAX
constexpr size_t kMaxDeviceAddressBytes = 256;
constexpr int64_t kMaxTimeoutMs = int64_t{1000} * 3600 * 24 * 3650;
constexpr size_t kMaxStackMethodBytes = 32;

absl::Status CheckSettings(const v1::JobSettings& settings) {
  if (settings.has_worker_num()) MUSTER_REQUIRE(CheckRange("worker_num", settings.worker_num(), 0, kMaxWorkers));
  if (settings.has_server_num()) MUSTER_REQUIRE(CheckRange("server_num", settings.server_num(), 0, kMaxWorkers));
  MUSTER_REQUIRE(CheckLine("rank_table_digest", settings.rank_table_digest(), kMaxShortTextBytes));
  if (settings.has_restart_scope() && settings.restart_scope() != "job" && settings.restart_scope() != "worker") {
    return absl::InvalidArgumentError("restart_scope is neither job nor worker");
  }
  MUSTER_REQUIRE(CheckLine("preflight", settings.preflight(), kMaxIdBytes));
  MUSTER_REQUIRE(CheckRange("topo_timeout_ms", settings.topo_timeout_ms(), -1, kMaxTimeoutMs));
  MUSTER_REQUIRE(CheckRange("max_restarts", settings.max_restarts(), 0, kMaxRestarts));
  MUSTER_REQUIRE(CheckRange("progress_timeout_ms", settings.progress_timeout_ms(), 0, kMaxTimeoutMs));
  MUSTER_REQUIRE(CheckRange("first_progress_timeout_ms", settings.first_progress_timeout_ms(), 0, kMaxTimeoutMs));
  MUSTER_REQUIRE(CheckLine("stall_action", settings.stall_action(), kMaxIdBytes));
  return absl::OkStatus();
}

absl::Status CheckHost(const v1::NodeInfo& node) {
  MUSTER_REQUIRE(CheckRange("the number of node.host_facts", node.host_facts_size(), 0, kMaxHostFacts));
  for (const v1::HostFact& fact : node.host_facts()) {
    MUSTER_REQUIRE(CheckLine("the name of a host fact", fact.name(), kMaxHostNameOfFact));
    MUSTER_REQUIRE(CheckLine("a host fact", fact.value(), kMaxHostValue));
  }
  MUSTER_REQUIRE(CheckRange("the number of node.host_findings", node.host_findings_size(), 0, kMaxHostFindings));
  for (const v1::HostFinding& finding : node.host_findings()) {
    MUSTER_REQUIRE(CheckLine("the check of a host finding", finding.check(), kMaxHostNameOfFact));
    MUSTER_REQUIRE(CheckLine("the text of a host finding", finding.text(), kMaxHostText));
    MUSTER_REQUIRE(CheckLine("the remedy of a host finding", finding.remedy(), kMaxHostText));
  }
  return CheckRange("the bytes of node.host_facts and node.host_findings", HostBytes(node), 0, kMaxHostBytes);
}

absl::Status CheckNodeInfo(const v1::NodeInfo& node) {
  if (node.role() != v1::ROLE_WORKER && node.role() != v1::ROLE_SERVER) {
    return absl::InvalidArgumentError(
        absl::StrCat("node.role is ", static_cast<int>(node.role()), "; expected worker or server"));
  }
  MUSTER_REQUIRE(CheckLine("node.host_name", node.host_name(), kMaxHostNameBytes));
  MUSTER_REQUIRE(CheckLine("node.machine_id", node.machine_id(), kMaxShortTextBytes));
  if (node.machine_id().empty()) return absl::InvalidArgumentError("node.machine_id is empty");
  MUSTER_REQUIRE(CheckReportedAddress("node.address", node.address()));
  MUSTER_REQUIRE(CheckRange("the number of node.slots", node.slots_size(), 1, kMaxSlotsPerNode));
  for (const v1::SlotOffer& slot : node.slots()) {
    MUSTER_REQUIRE(CheckPort("ring_port", slot.ring_port()));
    MUSTER_REQUIRE(CheckLine("device_id", slot.device_id(), kMaxIdBytes));
    MUSTER_REQUIRE(CheckLine("device_address", slot.device_address(), kMaxDeviceAddressBytes));
    MUSTER_REQUIRE(CheckLine("super_device_id", slot.super_device_id(), kMaxIdBytes));
  }
  MUSTER_REQUIRE(CheckRange("node.node_rank", node.node_rank(), 0, kMaxWorkers));
  MUSTER_REQUIRE(CheckLine("node.label_path", node.label_path(), kMaxShortTextBytes));
  MUSTER_REQUIRE(CheckLine("node.lock_token", node.lock_token(), kMaxShortTextBytes));
  MUSTER_REQUIRE(CheckRange("the number of node.ended_starts", node.ended_starts_size(), 0, kMaxEndedStarts));
  MUSTER_REQUIRE(CheckLine("node.former_start_doubt", node.former_start_doubt(), kMaxShortTextBytes));
  MUSTER_REQUIRE(CheckRange("the number of node.table_ranks", node.table_ranks_size(), 0, kMaxSlotsPerNode));
  for (uint32_t rank : node.table_ranks()) MUSTER_REQUIRE(CheckRange("table_rank", rank, 0, kMaxWorkers - 1));
  MUSTER_REQUIRE(CheckReportedAddress("node.other_address", node.other_address()));
  MUSTER_REQUIRE(CheckRange("the number of node.addresses", node.addresses_size(), 0, kMaxAddressesOfNode));
  // These are all addresses of the machine. Link-local ones are allowed, because a connection may come from one.
  for (const std::string& address : node.addresses()) MUSTER_REQUIRE(CheckOptionalAddress("node.addresses", address));
  MUSTER_REQUIRE(CheckReportedAddress("node.wanted_master_address", node.wanted_master_address()));
  MUSTER_REQUIRE(CheckPort("node.wanted_master_port", node.wanted_master_port()));
  MUSTER_REQUIRE(CheckPort("node.master_port", node.master_port()));
  MUSTER_REQUIRE(CheckLine("node.super_pod", node.super_pod(), kMaxIdBytes));
  MUSTER_REQUIRE(CheckPort("node.chief_port", node.chief_port()));
  MUSTER_REQUIRE(CheckPort("node.exec_port", node.exec_port()));
  MUSTER_REQUIRE(CheckSize("node.exec_key", node.exec_key(), kMaxIdBytes));
  MUSTER_REQUIRE(CheckHost(node));
  MUSTER_REQUIRE(CheckLine("node.certificate_fingerprint", node.certificate_fingerprint(), kMaxShortTextBytes));
  MUSTER_REQUIRE(CheckLine("node.user", node.user(), kMaxShortTextBytes));
  return CheckLine("node.version", node.version(), kMaxShortTextBytes);
}

absl::Status CheckProcess(uint32_t slot) { return CheckRange("slot", slot, 0, kMaxSlotsPerNode - 1); }

// Checks the parts that a stuck process and a halted one have in common.
template <typename Named>
absl::Status CheckNamed(const Named& process) {
  MUSTER_REQUIRE(CheckProcess(process.slot()));
  MUSTER_REQUIRE(CheckLine("name", process.name(), kMaxStuckNameBytes));
  return CheckLine("state", process.state(), kMaxStuckStateBytes);
}

// Checks only the form, because a newer agent may send a word that is unknown here.
absl::Status CheckReason(const std::string& reason) {
  const bool is_word = reason.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string::npos;
  if (is_word && reason.size() <= reason::kMaxBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("launch_reason must be a word of small letters and _, of at most ",
                                                 reason::kMaxBytes, " bytes; it is ", Quoted(reason)));
}

absl::Status CheckEnded(const v1::ProcessEnded& ended) {
  MUSTER_REQUIRE(CheckProcess(ended.slot()));
  MUSTER_REQUIRE(CheckRange("exit_code", ended.exit_code(), 0, 255));
  MUSTER_REQUIRE(CheckRange("signal", ended.signal(), 0, kMaxSignal));
  if (ended.exit_code() != 0 && ended.signal() != 0) {
    return absl::InvalidArgumentError("a process ended both with an exit code and by a signal");
  }
  MUSTER_REQUIRE(CheckSize("error_message", ended.error_message(), kMaxErrorMessageBytes));
  MUSTER_REQUIRE(CheckSize("launch_error", ended.launch_error(), kMaxShortTextBytes));
  MUSTER_REQUIRE(CheckReason(ended.launch_reason()));
  MUSTER_REQUIRE(CheckLine("launch_remedy", ended.launch_remedy(), kMaxShortTextBytes));
  MUSTER_REQUIRE(CheckLine("log_file", ended.log_file(), kMaxLogFileBytes));
  MUSTER_REQUIRE(CheckRange("the number of last_lines", ended.last_lines_size(), 0, kMaxLastLines));
  MUSTER_REQUIRE(CheckLine("failing_line", ended.failing_line(), kMaxLastLineBytes));
  MUSTER_REQUIRE(CheckRange("the number of kernel_lines", ended.kernel_lines_size(), 0, kMaxKernelLines));
  for (const std::string& line : ended.kernel_lines()) {
    MUSTER_REQUIRE(CheckLine("a kernel line", line, kMaxLastLineBytes));
  }
  for (const std::string& line : ended.last_lines()) MUSTER_REQUIRE(CheckSize("a last line", line, kMaxLastLineBytes));
  MUSTER_REQUIRE(CheckLine("exception.type", ended.exception().type(), kMaxShortTextBytes));
  MUSTER_REQUIRE(CheckSize("exception.message", ended.exception().message(), kMaxExceptionBytes));
  MUSTER_REQUIRE(CheckLine("exception.file", ended.exception().file(), kMaxShortTextBytes));
  return absl::OkStatus();
}

absl::Status CheckEvent(const v1::NodeEvent& event) {
  switch (event.kind_case()) {
    case v1::NodeEvent::kStarted:
      return CheckProcess(event.started().slot());
    case v1::NodeEvent::kEnded:
      return CheckEnded(event.ended());
    case v1::NodeEvent::kLeaving:
      MUSTER_REQUIRE(CheckRange("signal", event.leaving().signal(), 0, kMaxSignal));
      return CheckSize("reason", event.leaving().reason(), kMaxShortTextBytes);
    case v1::NodeEvent::kRemoteCommands: {
      const v1::RemoteCommands& commands = event.remote_commands();
      MUSTER_REQUIRE(CheckRange("count", commands.count(), 1, kMaxCommandsCounted));
      MUSTER_REQUIRE(CheckLine("from", commands.from(), kMaxShortTextBytes));
      MUSTER_REQUIRE(CheckLine("words", commands.words(), kMaxShownCommandBytes));
      return CheckLine("why", commands.why(), kMaxShortTextBytes);
    }
    case v1::NodeEvent::kQuit:
    case v1::NodeEvent::kChecked:
    case v1::NodeEvent::KIND_NOT_SET:  // an event of a newer agent: the core uses only its number
      break;
  }
  return absl::OkStatus();
}

absl::Status CheckJobOf(const std::string& job_id) { return CheckOptionalId("job_id", job_id); }

absl::Status CheckLimit(uint32_t limit, uint32_t high) { return CheckRange("limit", limit, 0, high); }

}  // namespace

absl::Status CheckRequestSize(size_t bytes) {
  if (bytes <= kMaxUnaryRequestBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a request of ", bytes, " bytes; at most ", kMaxUnaryRequestBytes, " are allowed"));
}

absl::Status CheckJoin(const v1::Join& join) {
  if (join.protocol_version() != kProtocolVersion) {
    return absl::InvalidArgumentError(absl::StrCat("the agent speaks protocol version ", join.protocol_version(),
                                                   ", this scheduler version ", kProtocolVersion,
                                                   ": install the same release of Muster on both"));
  }
  MUSTER_REQUIRE(CheckId("job_id", join.job_id()));
  MUSTER_REQUIRE(CheckOptionalId("node_id", join.node_id()));
  if (join.incarnation() == 0) return absl::InvalidArgumentError("incarnation is 0");
  if (join.round() > kMaxRound)
    return absl::InvalidArgumentError(absl::StrCat("round ", join.round(), " is above ", kMaxRound));
  if (join.connect_seq() == 0) return absl::InvalidArgumentError("connect_seq is 0; it counts from 1");
  MUSTER_REQUIRE(CheckOptionalId("cluster_id", join.cluster_id()));
  MUSTER_REQUIRE(CheckSettings(join.settings()));
  return CheckNodeInfo(join.node());
}

absl::Status CheckReport(const v1::Report& report) {
  MUSTER_REQUIRE(CheckRange("the number of events", report.events_size(), 0, kMaxEventsPerReport));
  uint64_t previous = 0;
  for (const v1::NodeEvent& event : report.events()) {
    if (event.number() <= previous) {
      return absl::InvalidArgumentError(
          absl::StrCat("event number ", event.number(), " follows number ", previous, "; numbers rise, from 1"));
    }
    previous = event.number();
    MUSTER_REQUIRE(CheckRange(absl::StrCat("the age of event ", event.number()), event.age_ms(), 0, kMaxTimeoutMs));
    if (absl::Status status = CheckEvent(event); !status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("event ", event.number(), ": ", std::string(status.message())));
    }
  }
  MUSTER_REQUIRE(CheckRange("the number of progress entries", report.progress_size(), 0, kMaxSlotsPerNode));
  for (const v1::SlotProgress& progress : report.progress()) {
    MUSTER_REQUIRE(CheckProcess(progress.slot()));
    MUSTER_REQUIRE(CheckRange("since_progress_ms", progress.since_progress_ms(), 0, kMaxTimeoutMs));
  }
  MUSTER_REQUIRE(CheckRange("the number of activity entries", report.activity_size(), 0, kMaxSlotsPerNode));
  for (const v1::SlotActivity& activity : report.activity()) {
    MUSTER_REQUIRE(CheckProcess(activity.slot()));
    MUSTER_REQUIRE(CheckRange("since_output_ms", activity.since_output_ms(), 0, kMaxTimeoutMs));
    MUSTER_REQUIRE(CheckLine("a process's state", activity.state(), 1));
  }
  MUSTER_REQUIRE(CheckRange("the number of stuck processes", report.stuck_size(), 0, kMaxStuckPerReport));
  for (const v1::StuckProcess& stuck : report.stuck()) {
    MUSTER_REQUIRE(CheckNamed(stuck));
    MUSTER_REQUIRE(CheckRange("stuck_ms", stuck.stuck_ms(), 0, kMaxTimeoutMs));
  }
  MUSTER_REQUIRE(CheckRange("the number of halted processes", report.halted_size(), 0, kMaxHaltedPerReport));
  for (const v1::HaltedProcess& halted : report.halted()) {
    MUSTER_REQUIRE(CheckNamed(halted));
    MUSTER_REQUIRE(CheckLine("waits_in", halted.waits_in(), kMaxStuckNameBytes));
    MUSTER_REQUIRE(CheckRange("halted_ms", halted.halted_ms(), 0, kMaxTimeoutMs));
  }
  return absl::OkStatus();
}

absl::Status CheckStackTraces(const v1::StackTraces& traces) {
  MUSTER_REQUIRE(CheckRange("the number of stacks", traces.stacks_size(), 0, kMaxSlotsPerNode));
  for (const v1::SlotStack& stack : traces.stacks()) {
    MUSTER_REQUIRE(CheckProcess(stack.slot()));
    MUSTER_REQUIRE(CheckLine("method", stack.method(), kMaxStackMethodBytes));
    MUSTER_REQUIRE(CheckSize("text", stack.text(), kMaxStackBytes));
    MUSTER_REQUIRE(CheckSize("note", stack.note(), kMaxStackNoteBytes));
  }
  return absl::OkStatus();
}

absl::Status CheckLogLines(const v1::LogLines& lines) {
  const v1::SlotLog& log = lines.log();
  MUSTER_REQUIRE(CheckSize("text", log.text(), kMaxLogTextBytes));
  MUSTER_REQUIRE(CheckSize("unfinished", log.unfinished(), kMaxLogFileBytes));
  MUSTER_REQUIRE(CheckSize("log_file", log.log_file(), kMaxLogFileBytes));
  return CheckSize("note", log.note(), kMaxStackNoteBytes);
}

absl::Status CheckLastReport(const v1::LastReportRequest& last_report) {
  MUSTER_REQUIRE(CheckOptionalId("cluster_id", last_report.cluster_id()));
  MUSTER_REQUIRE(CheckId("job_id", last_report.job_id()));
  MUSTER_REQUIRE(CheckId("node_id", last_report.node_id()));
  if (last_report.incarnation() == 0) return absl::InvalidArgumentError("incarnation is 0");
  MUSTER_REQUIRE(CheckRange("signal", last_report.signal(), 0, kMaxSignal));
  return CheckRange("exit_code", last_report.exit_code(), 0, 255);
}

absl::Status CheckRequest(const v1::GetPeersRequest& request) { return CheckId("job_id", request.job_id()); }

absl::Status CheckRequest(const v1::StatusRequest& request) { return CheckJobOf(request.job_id()); }

absl::Status CheckRequest(const v1::NodesRequest& request) {
  MUSTER_REQUIRE(CheckJobOf(request.job_id()));
  return CheckLimit(request.limit(), kMaxNodesPage);
}

absl::Status CheckRequest(const v1::RanksRequest& request) {
  MUSTER_REQUIRE(CheckJobOf(request.job_id()));
  return CheckLimit(request.limit(), kMaxRanksPage);
}

absl::Status CheckRequest(const v1::EventsRequest& request) {
  MUSTER_REQUIRE(CheckJobOf(request.job_id()));
  return CheckLimit(request.limit(), kMaxEventsPage);
}

absl::Status CheckRequest(const v1::StopRequest& request) {
  MUSTER_REQUIRE(CheckId("job_id", request.job_id()));
  MUSTER_REQUIRE(CheckLine("reason", request.reason(), kMaxShortTextBytes));
  return CheckLine("user", request.user(), kMaxShortTextBytes);
}

absl::Status CheckRequest(const v1::SteerRequest& request) {
  MUSTER_REQUIRE(CheckId("job_id", request.job_id()));
  if (request.action() == v1::SteerRequest::ACTION_UNSPECIFIED || !v1::SteerRequest::Action_IsValid(request.action())) {
    return absl::InvalidArgumentError(absl::StrCat("action ", static_cast<int>(request.action()),
                                                   " is not known to this scheduler: use a newer one"));
  }
  // (A restart names no node, because it restarts the whole job.)
  if (request.action() != v1::SteerRequest::RESTART) MUSTER_REQUIRE(CheckId("node_id", request.node_id()));
  MUSTER_REQUIRE(CheckLine("reason", request.reason(), kMaxShortTextBytes));
  return CheckLine("user", request.user(), kMaxShortTextBytes);
}

absl::Status CheckRequest(const v1::StacksRequest& request) {
  MUSTER_REQUIRE(CheckId("job_id", request.job_id()));
  return CheckRange("the number of ranks", request.ranks_size(), 0, kMaxStackRanks);
}

absl::Status CheckRequest(const v1::LogsRequest& request) {
  MUSTER_REQUIRE(CheckId("job_id", request.job_id()));
  return CheckRange("lines", request.lines(), 0, kMaxLogLines);
}

namespace {

absl::Status CheckCaller(const v1::StoreCaller& caller) {
  if (absl::Status status = CheckId("job_id", caller.job_id()); !status.ok()) return status;
  if (absl::Status status = CheckId("node_id", caller.node_id()); !status.ok()) return status;
  if (caller.run() != 0 && caller.round() != 0 && caller.incarnation() != 0) return absl::OkStatus();
  return absl::InvalidArgumentError("a request must name its run, round and incarnation");
}

absl::Status CheckLifetime(v1::ValueLifetime lifetime) {
  if (lifetime == v1::LIFETIME_ROUND || lifetime == v1::LIFETIME_RUN) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("lifetime is ", static_cast<int>(lifetime), "; expected LIFETIME_ROUND or LIFETIME_RUN"));
}

absl::Status CheckRest(const v1::StoreGet& /*request*/) { return absl::OkStatus(); }
absl::Status CheckRest(const v1::StoreDelete& /*request*/) { return absl::OkStatus(); }
absl::Status CheckRest(const v1::StoreList& request) {
  return request.after().empty() ? absl::OkStatus() : CheckStoreKey(request.after());
}
absl::Status CheckRest(const v1::StoreWait& request) {
  return CheckRange("limit_ms", request.limit_ms(), 0, kMaxStoreWaitMs);
}
absl::Status CheckRest(const v1::StoreSet& request) {
  if (absl::Status status = CheckStoreValue(request.value()); !status.ok()) return status;
  return CheckLifetime(request.lifetime());
}
absl::Status CheckRest(const v1::StoreAdd& request) { return CheckLifetime(request.lifetime()); }
absl::Status CheckRest(const v1::StoreCompareAndSet& request) {
  if (absl::Status status = CheckStoreValue(request.expected()); !status.ok()) return status;
  if (absl::Status status = CheckStoreValue(request.desired()); !status.ok()) return status;
  return CheckLifetime(request.lifetime());
}

// Checks an operation that changes several keys.
absl::Status CheckBatch(const v1::StoreBatch& batch) {
  if (batch.number() == 0) return absl::InvalidArgumentError("a batch of changes must have a number above 0");
  MUSTER_REQUIRE(CheckRange("the number of changes", batch.edits_size(), 1, kMaxStoreEdits));
  std::set<absl::string_view> keys;
  for (const v1::StoreEdit& edit : batch.edits()) {
    MUSTER_REQUIRE(CheckStoreKey(edit.key()));
    MUSTER_REQUIRE(CheckStoreValue(edit.value()));
    if (edit.has_value()) MUSTER_REQUIRE(CheckLifetime(edit.lifetime()));
    if (!keys.insert(edit.key()).second)
      return absl::InvalidArgumentError("a batch of changes may name a key only once");
  }
  return absl::OkStatus();
}

// Checks an operation that has no key: a report of replicas.
absl::Status CheckReport(const v1::ReplicasReport& report) {
  MUSTER_REQUIRE(CheckId("lighthouse", report.lighthouse()));
  MUSTER_REQUIRE(CheckRange("wait_ms", report.wait_ms(), 0, kMaxStoreWaitMs));
  MUSTER_REQUIRE(CheckRange("min_replicas", report.rules().min_replicas(), 1, kMaxWorkers));
  MUSTER_REQUIRE(CheckRange("join_timeout_ms", report.rules().join_timeout_ms(), 0, kMaxTimeoutMs));
  MUSTER_REQUIRE(CheckRange("heartbeat_timeout_ms", report.rules().heartbeat_timeout_ms(), 1, kMaxTimeoutMs));
  MUSTER_REQUIRE(CheckRange("the number of replicas", report.replicas_size(), 0, kMaxReplicasOfAgent));
  for (const v1::ReplicaReport& one : report.replicas()) {
    if (one.replica_id().empty()) return absl::InvalidArgumentError("a replica_id is empty");
    MUSTER_REQUIRE(CheckLine("replica_id", one.replica_id(), kMaxReplicaIdBytes));
    MUSTER_REQUIRE(CheckSize("a member", one.member(), kMaxReplicaMemberBytes));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckStoreOperation(const StoreOperation& operation) {
  return std::visit(
      [](const auto& request) {
        if (absl::Status status = CheckCaller(request.caller()); !status.ok()) return status;
        if constexpr (std::is_same_v<std::decay_t<decltype(request)>, v1::ReplicasReport>) {
          return CheckReport(request);
        } else if constexpr (std::is_same_v<std::decay_t<decltype(request)>, v1::StoreBatch>) {
          return CheckBatch(request);
        } else {
          if (absl::Status status = CheckStoreKey(request.key()); !status.ok()) return status;
          return CheckRest(request);
        }
      },
      operation);
}

const v1::StoreCaller& CallerOf(const StoreOperation& operation) {
  return std::visit([](const auto& request) -> const v1::StoreCaller& { return request.caller(); }, operation);
}

size_t BytesOf(const StoreOperation& operation) {
  return std::visit([](const auto& request) { return request.ByteSizeLong(); }, operation);
}

}  // namespace muster::scheduler
