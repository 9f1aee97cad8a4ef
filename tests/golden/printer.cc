#include "tests/golden/printer.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/net/ip_address.h"
#include "scheduler/core/views/job_map.h"
#include "tests/golden/print_record.h"

namespace muster::golden {
namespace {

std::string PrintNeighbour(bool is_elsewhere, const v1::RingNeighbour& neighbour) {
  if (!is_elsewhere) return "own";
  const auto address = IpAddress::FromBytes(neighbour.address());
  return absl::StrCat(neighbour.rank(), "@", address ? address->ToString() : "", ":", neighbour.port());
}

std::string PrintAssignment(const v1::Assignment& assignment) {
  if (assignment.slots().empty()) return "";
  std::string text;
  for (const v1::SlotAssignment& slot : assignment.slots()) {
    absl::StrAppend(
        &text, " [rank ", slot.rank(), " local ", slot.local_rank(), " ring ",
        PrintNeighbour(slot.has_previous(), slot.previous()), " ", PrintNeighbour(slot.has_next(), slot.next()),
        slot.attempt() == 0 ? "" : absl::StrCat(" attempt ", slot.attempt()), slot.should_run() ? "" : " done", "]");
  }
  if (!assignment.certificate_fingerprint().empty()) {
    absl::StrAppend(&text, " certificate ", absl::BytesToHexString(assignment.certificate_fingerprint()), ",");
  }
  absl::StrAppend(&text, assignment.role() == v1::ROLE_SERVER ? " server," : "", " of ", assignment.worker_num(),
                  assignment.server_num() == 0 ? "" : absl::StrCat("+", assignment.server_num()), ", local size ",
                  assignment.local_world_size(), ", node rank ", assignment.node_rank(), " of ",
                  assignment.machine_num(), ", master ",
                  JoinHostPort(assignment.master_address(), assignment.master_port()));
  return text;
}

std::string PrintWelcome(const v1::Welcome& welcome) {
  std::string text = absl::StrCat("welcome ", welcome.job_id(), "/", welcome.run(), " node ", welcome.node_id(),
                                  " heartbeat ", welcome.heartbeat_interval_ms(), " ms");
  if (welcome.is_spare()) text += " spare";
  if (welcome.is_resumed()) absl::StrAppend(&text, " resumed, events through ", welcome.events_through());
  if (welcome.fence_timeout_ms() > 0) absl::StrAppend(&text, " fence ", welcome.fence_timeout_ms(), " ms");
  if (!welcome.previous_run().empty()) absl::StrAppend(&text, " previous \"", welcome.previous_run(), "\"");
  return text;
}

std::string PrintAcknowledgement(const v1::Acknowledgement& ack) {
  std::string text = absl::StrCat("ack hb ", ack.heartbeat_seq(), " events through ", ack.events_through());
  if (ack.fence_timeout_ms() > 0) absl::StrAppend(&text, " fence ", ack.fence_timeout_ms(), " ms");
  if (ack.has_waiting()) absl::StrAppend(&text, " waiting \"", ack.waiting().text(), "\"");
  return text;
}

std::string PrintDesired(const v1::DesiredState& desired) {
  return absl::StrCat(
      "desired run ", desired.run(), " ", PrintPhase(desired.phase()),
      desired.round() == 0 ? "" : absl::StrCat(" round ", desired.round()),
      desired.restart_count() == 0 ? "" : absl::StrCat(" restarts ", desired.restart_count()),
      desired.is_planned_stop() ? " as planned" : "", desired.check_node() ? ", check the node" : "",
      PrintAssignment(desired.assignment()),
      desired.remarks().empty() ? "" : absl::StrCat(" remarks \"", absl::StrJoin(desired.remarks(), " / "), "\""),
      desired.has_outcome() ? absl::StrCat(": ", PrintOutcome(desired.outcome())) : "");
}

std::string PrintMessage(const v1::SchedulerMessage& message) {
  switch (message.kind_case()) {
    case v1::SchedulerMessage::kWelcome:
      return PrintWelcome(message.welcome());
    case v1::SchedulerMessage::kRefusal:
      return absl::StrCat("refusal ", v1::Refusal::Reason_Name(message.refusal().reason()), " \"",
                          message.refusal().text(), "\"",
                          message.refusal().retry_after_ms() == 0
                              ? ""
                              : absl::StrCat(" again in ", message.refusal().retry_after_ms(), " ms"),
                          message.refusal().ranks_are_free() ? ", ranks are free" : "");
    case v1::SchedulerMessage::kAcknowledgement:
      return PrintAcknowledgement(message.acknowledgement());
    case v1::SchedulerMessage::kDesired:
      return PrintDesired(message.desired());
    case v1::SchedulerMessage::kProbe:
      return absl::StrCat("probe ", message.probe().probe());
    case v1::SchedulerMessage::kStackQuery:
      return absl::StrCat("stack_query ", message.stack_query().query(), " slots ",
                          absl::StrJoin(message.stack_query().slots(), ","));
    case v1::SchedulerMessage::kLogQuery:
      return absl::StrCat("log_query ", PrintFields(message.log_query()));
    case v1::SchedulerMessage::kGoingAway:
      return "going away";
    case v1::SchedulerMessage::KIND_NOT_SET:
      break;
  }
  return "nothing";
}

const char* SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kDebug:
      return "debug";
    case Severity::kInfo:
      return "info";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "error";
  }
  return "?";
}

class Printer {
 public:
  explicit Printer(std::vector<std::string>& lines) : lines_(lines) {}

  void operator()(const scheduler::Persist& e) {
    Add("persist ", PrintRecord(e.record),
        e.record.least_reader() == 0 ? "" : absl::StrCat(", reader ", e.record.least_reader()));
  }
  void operator()(const scheduler::Send& e) {
    Add("s", e.stream, e.is_urgent ? " <- urgent " : " <- ", PrintMessage(*e.message));
  }
  void operator()(const scheduler::CloseStream& e) { Add("s", e.stream, " closed"); }
  void operator()(const scheduler::PublishPeers& e) { Add("publish ", e.job_id, "/", e.run, " round ", e.round); }
  void operator()(const scheduler::ForgetPeers& e) { Add("forget peers ", e.job_id, "/", e.run); }
  void operator()(const scheduler::Announce& e) {
    Add("announce ", SeverityName(e.severity), " \"", e.event->text(), "\"");
    for (const std::string& line : e.event->last_lines()) Add("    | ", line);
  }
  void operator()(const scheduler::RunSettled& e) {
    Add("settled ", e.job_id, "/", e.run, " ", PrintOutcome(e.outcome));
  }
  void operator()(const scheduler::Answer& e) {
    if (!e.status.ok()) return Add("answer ", e.query, " ", e.status.ToString());
    Add("answer ", e.query);
    std::visit([&](const auto& reply) { PrintReply(reply); }, e.reply);
  }

 private:
  template <typename... Pieces>
  void Add(const Pieces&... pieces) {
    lines_.push_back(absl::StrCat(pieces...));
  }

  void PrintReply(const v1::StatusReply& reply) {
    for (const v1::RunStatus& run : reply.runs()) Add("  ", PrintFields(run));
  }
  void PrintReply(const v1::NodesReply& reply) {
    for (const v1::NodeStatus& node : reply.nodes()) Add("  ", PrintFields(node));
    if (!reply.has_missing()) return;
    for (const v1::MissingNode& node : reply.missing().nodes()) Add("  missing ", PrintFields(node));
    Add("  unnamed ", reply.missing().workers_unnamed(), " workers, ", reply.missing().servers_unnamed(), " servers");
    for (const v1::RefusedJoin& refused : reply.missing().refused()) Add("  refused ", PrintFields(refused));
  }
  void PrintReply(const v1::RanksReply& reply) {
    for (const v1::RankStatus& rank : reply.ranks()) Add("  ", PrintFields(rank));
  }
  void PrintReply(const v1::EventsReply& reply) {
    for (const v1::JobEvent& event : reply.events()) Add("  ", event.number(), " ", event.kind(), " ", event.text());
  }
  void PrintReply(const v1::StacksReply& reply) {
    for (const v1::RankStack& stack : reply.ranks()) Add("  ", PrintFields(stack));
  }
  void PrintReply(const v1::LogsReply& reply) { Add("  ", PrintFields(reply)); }
  void PrintReply(const v1::StopReply& reply) { Add("  run ", reply.run(), " was ", PrintPhase(reply.phase())); }
  void PrintReply(const v1::LastReportReply&) { Add("  last_report"); }
  void PrintReply(const std::shared_ptr<const scheduler::Overview>&) { Add("  overview"); }
  void PrintReply(const std::shared_ptr<const scheduler::JobMap>& map) { Add("  map ", map->nodes, " ", map->slots); }
  void PrintReply(const v1::StoreReply& reply) {
    Add("  version ", reply.version(), reply.has_value() ? absl::StrCat(" \"", reply.value(), "\"") : "",
        reply.number() == 0 ? "" : absl::StrCat(" number ", reply.number()));
  }
  void PrintReply(const v1::SteerReply& reply) { Add("  run ", reply.run(), ": ", reply.text()); }

  std::vector<std::string>& lines_;
};

}  // namespace

std::vector<std::string> Print(const scheduler::Effects& effects) {
  std::vector<std::string> lines;
  for (const scheduler::Effect& effect : effects) std::visit(Printer(lines), effect);
  return lines;
}

}  // namespace muster::golden
