#include "scheduler/core/facts/event_log.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <optional>

#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "common/causes/outcome.h"
#include "common/net/ip_address.h"
#include "scheduler/core/facts/cause.h"
#include "scheduler/core/state/state.h"

namespace muster::scheduler {
namespace {

v1::JobEvent Line(const std::string& job_id, uint64_t run, const char* kind, std::string text) {
  v1::JobEvent event;
  event.set_job_id(job_id);
  event.set_run(run);
  event.set_kind(kind);
  event.set_text(std::move(text));
  return event;
}

std::string Plural(uint64_t n, const char* noun) { return absl::StrCat(n, " ", noun, n == 1 ? "" : "s"); }

std::string SizeText(const v1::JobSettings& settings) {
  std::string text =
      settings.has_worker_num() ? Plural(settings.worker_num(), "worker") : "an unknown number of workers";
  if (settings.server_num() > 0) absl::StrAppend(&text, " and ", Plural(settings.server_num(), "server"));
  return text;
}

v1::JobEvent DescribeJoin(const v1::NodeJoined& record) {
  return Line(
      record.job_id(), record.run(), "node_joined",
      absl::StrCat("node ", record.node_id(), " joined from ", record.info().host_name(), " (", record.info().address(),
                   ") with ", Plural(record.info().slots_size(), RoleName(record.info().role())),
                   record.is_spare() ? ", as a spare" : ""));
}

// A node that goes while the run still forms holds no ranks. So its line gets the kind "node_gone", which is no
// warning; `ms-ctl nodes --missing` lists the node.
v1::JobEvent DescribeRemoval(const State& state, const v1::NodeRemoved& record) {
  const Run* run = state.FindRun(record.job_id(), record.run());
  const bool is_forming = run != nullptr && run->record().phase == v1::RUN_PHASE_FORMING;
  const char* lost = is_forming ? "node_gone" : "node_lost";
  const bool has_left = record.why() == v1::NodeRemoved::LEFT || record.why() == v1::NodeRemoved::DRAINED;
  const char* kind = has_left ? "node_left" : record.why() == v1::NodeRemoved::LOST ? lost : "node_replaced";
  const char* verb = has_left ? " left: " : record.why() == v1::NodeRemoved::LOST ? " is lost: " : " was replaced: ";
  return Line(record.job_id(), record.run(), kind, absl::StrCat("node ", record.node_id(), verb, record.reason()));
}

v1::JobEvent DescribeLoss(const State& state, const v1::NodeLost& record) {
  const bool has_left = record.why() != v1::NodeRemoved::LOST;
  std::string text = absl::StrCat("node ", record.node_id(), has_left ? " left: " : " is lost: ", record.reason());
  if (!record.is_confirmed()) absl::StrAppend(&text, "; its processes may still run");
  const Run* run = state.FindRun(record.job_id(), record.run());
  const Node* node = run == nullptr ? nullptr : run->nodes.Find(record.node_id());
  // This must not depend on the scheduler's options, so that a recovered scheduler writes the same text.
  const bool has_promised = node != nullptr && node->record().info.is_fence_guarded() && !record.is_fence_too_weak();
  const bool is_unguarded = node != nullptr && !has_promised && record.armed_fence_ms() > 0;
  if (!record.is_confirmed() && is_unguarded) {
    absl::StrAppend(&text,
                    ", and its fence is not guaranteed to end them: its ranks wait for the node, or for `ms-ctl fence ",
                    record.node_id(), "`");
  }
  return Line(record.job_id(), record.run(), has_left ? "node_left" : "node_lost", std::move(text));
}

// Parses only the numbers of a serialised peer list, because a log line needs no more and the list may be large.
v1::PeerList HeadOf(const std::string& bytes) {
  using google::protobuf::internal::WireFormatLite;
  v1::PeerList head;
  google::protobuf::io::CodedInputStream input(reinterpret_cast<const uint8_t*>(bytes.data()),
                                               static_cast<int>(bytes.size()));
  while (const uint32_t tag = input.ReadTag()) {
    const int field = WireFormatLite::GetTagFieldNumber(tag);
    if (WireFormatLite::GetTagWireType(tag) != WireFormatLite::WIRETYPE_VARINT) {
      if (!WireFormatLite::SkipField(&input, tag)) break;
      continue;
    }
    uint32_t value = 0;
    if (!input.ReadVarint32(&value)) break;
    if (field == v1::PeerList::kWorkerNumFieldNumber) head.set_worker_num(value);
    if (field == v1::PeerList::kServerNumFieldNumber) head.set_server_num(value);
    if (field == v1::PeerList::kMachineNumFieldNumber) head.set_machine_num(value);
  }
  return head;
}

v1::JobEvent DescribeRound(const v1::RoundClosed& record) {
  const v1::PeerList peers = HeadOf(record.peer_list());
  std::string text = absl::StrCat("job ", record.job_id(), record.round() == 1 ? " formed: " : " formed again: ");
  absl::StrAppend(&text, Plural(peers.worker_num(), "worker"));
  if (peers.server_num() > 0) absl::StrAppend(&text, " and ", Plural(peers.server_num(), "server"));
  absl::StrAppend(&text, " on ", Plural(peers.machine_num(), "machine"), " in ",
                  FormatAge(absl::Milliseconds(record.formed_in_ms())));
  if (!record.master_address().empty()) {
    absl::StrAppend(&text, "; rank 0 at ", JoinHostPort(record.master_address(), record.master_port()));
  }
  absl::StrAppend(&text, " (run ", record.run(), ", round ", record.round(), ")");
  for (const v1::Replacement& replacement : record.replacements()) {
    absl::StrAppend(&text, "; spare ", replacement.spare(), " took the place of node ", replacement.lost());
  }
  if (record.has_cause())
    absl::StrAppend(&text, "; round ", record.round() - 1, " was given up: ", record.cause().text());
  return Line(record.job_id(), record.run(), "round_closed", std::move(text));
}

std::optional<v1::JobEvent> DescribeSlotRestart(const State& state, const v1::SlotRestarted& record) {
  const Run* run = state.FindRun(record.job_id(), record.run());
  const Node* found = run == nullptr ? nullptr : run->nodes.Find(record.node_id());
  if (found == nullptr) return std::nullopt;
  const Node& node = *found;
  if (record.slot() >= node.record().slots.size()) return std::nullopt;
  v1::JobEvent event = Line(
      record.job_id(), record.run(), "process_restarted",
      absl::StrCat("rank ", node.record().slots[record.slot()].rank, " on ", node.record().info.host_name(), " (node ",
                   node.record().id, ") starts again, attempt ", record.attempt(), " of round ", run->record().round));
  *event.mutable_last_lines() = record.cause().last_lines();
  return event;
}

v1::JobEvent DescribeEnd(const v1::RunEnded& record) {
  const std::string age = FormatAge(absl::Milliseconds(record.lasted_ms()));
  if (record.outcome().succeeded()) {
    return Line(record.job_id(), record.run(), "run_succeeded",
                absl::StrCat("job ", record.job_id(), " succeeded after ", age, " (run ", record.run(), ")"));
  }
  const v1::Cause& cause = record.outcome().cause();
  const bool was_stopped = WasStopped(record.outcome());
  v1::JobEvent event =
      Line(record.job_id(), record.run(), was_stopped ? "run_stopped" : "run_failed",
           absl::StrCat("job ", record.job_id(), was_stopped ? " was stopped after " : " failed after ", age, " (run ",
                        record.run(), "): ", cause.text()));
  *event.mutable_last_lines() = cause.last_lines();
  return event;
}

v1::JobEvent DescribeCommands(const v1::NodeReported& record, const v1::RemoteCommands& commands) {
  const bool is_refused = commands.refusal() != v1::RemoteCommands::NOT_REFUSED;
  std::string text = absl::StrCat("node ", record.node_id(), is_refused ? " refused " : " ran ");
  absl::StrAppend(&text, commands.count() == 1 ? "a remote command of "
                                               : absl::StrCat(commands.count(), " remote commands, the last one of "));
  absl::StrAppend(&text, commands.from(), is_refused ? ": " : "", commands.why());
  if (commands.round() != 0) absl::StrAppend(&text, " (round ", commands.round(), ")");
  if (!commands.words().empty()) absl::StrAppend(&text, ": ", commands.words());
  v1::JobEvent event =
      Line(record.job_id(), record.run(), is_refused ? "remote_command_refused" : "remote_command", std::move(text));
  event.set_times(commands.count());
  const std::string& reason = v1::RemoteCommands::Refusal_Name(commands.refusal());
  if (is_refused) event.set_refusal(absl::StrCat("remote command: ", reason.empty() ? "OTHER" : reason));
  return event;
}

// Returns lines only for the first failure in the report, in the words of its cause, and for remote commands on the
// node. Lines for each healthy start and end of a process would bury the important ones.
std::vector<v1::JobEvent> DescribeReport(const State& state, const v1::NodeReported& record) {
  std::vector<v1::JobEvent> lines;
  const Run* run = state.FindRun(record.job_id(), record.run());
  if (run == nullptr) return lines;
  const Node* found = run->nodes.Find(record.node_id());
  if (found == nullptr) return lines;
  const Node& node = *found;
  bool is_failure_reported = false;
  for (const v1::NodeEvent& event : record.events()) {
    if (event.has_remote_commands()) lines.push_back(DescribeCommands(record, event.remote_commands()));
    const v1::ProcessEnded& ended = event.ended();
    if (is_failure_reported || !event.has_ended() || ended.was_stopped() ||
        (ended.exit_code() == 0 && ended.signal() == 0))
      continue;
    if (ended.round() != run->record().round || ended.slot() >= node.record().slots.size() ||
        node.record().slots[ended.slot()].HasEnded())
      continue;
    is_failure_reported = true;
    lines.push_back(
        Line(record.job_id(), record.run(), "process_failed",
             CandidateFrom(*run, node, node.record().slots[ended.slot()].rank, ended, MonotonicTime()).cause.text()));
  }
  return lines;
}

std::optional<v1::JobEvent> DescribeOne(const State& state, const v1::Record& record) {
  switch (record.kind_case()) {
    case v1::Record::kRunOpened: {
      const v1::RunOpened& opened = record.run_opened();
      return Line(opened.job_id(), opened.run(), "run_opened",
                  absl::StrCat("job ", opened.job_id(), " opened by ", opened.opened_by(), ": run ", opened.run(),
                               ", waiting for ", SizeText(opened.settings())));
    }
    case v1::Record::kNodeJoined:
      return DescribeJoin(record.node_joined());
    case v1::Record::kNodeRemoved:
      return DescribeRemoval(state, record.node_removed());
    case v1::Record::kNodeLost:
      return DescribeLoss(state, record.node_lost());
    case v1::Record::kNodeDraining: {
      const v1::NodeDraining& draining = record.node_draining();
      return Line(draining.job_id(), draining.run(), draining.is_draining() ? "node_draining" : "node_stays",
                  absl::StrCat("node ", draining.node_id(),
                               draining.is_draining() ? " leaves at the next round: " : " stays: ", draining.reason()));
    }
    case v1::Record::kNodeRecertified:
      return Line(record.node_recertified().job_id(), record.node_recertified().run(), "node_recertified",
                  absl::StrCat("node ", record.node_recertified().node_id(), " is back with a renewed certificate"));
    case v1::Record::kNodeReturned:
      return Line(record.node_returned().job_id(), record.node_returned().run(), "node_returned",
                  absl::StrCat("node ", record.node_returned().node_id(), " is back"));
    case v1::Record::kIncarnationGone:
      return Line(record.incarnation_gone().job_id(), record.incarnation_gone().run(), "node_gone",
                  absl::StrCat("the old processes of node ", record.incarnation_gone().node_id(),
                               " are gone: ", record.incarnation_gone().reason()));
    case v1::Record::kRoundAborted: {
      const v1::RoundAborted& aborted = record.round_aborted();
      const Run* run = state.FindRun(aborted.job_id(), aborted.run());
      const std::string count =
          run == nullptr ? "" : RestartInWords(aborted.first(), aborted.recent_restarts(), run->MaxRestarts());
      v1::JobEvent event =
          Line(aborted.job_id(), aborted.run(), IsPlannedStop(aborted.first()) ? "round_stopped" : "round_aborted",
               absl::StrCat("restarting the processes of job ", aborted.job_id(),
                            count.empty() ? "" : absl::StrCat(" (", count, ")"), ": ", aborted.first().text()));
      *event.mutable_last_lines() = aborted.first().last_lines();
      return event;
    }
    case v1::Record::kSlotRestarted:
      return DescribeSlotRestart(state, record.slot_restarted());
    case v1::Record::kRoundClosed:
      return DescribeRound(record.round_closed());
    case v1::Record::kRunFailing:
      return Line(record.run_failing().job_id(), record.run_failing().run(),
                  IsStopByPerson(record.run_failing().first()) ? "run_stopping" : "run_failing",
                  absl::StrCat("stopping all processes of job ", record.run_failing().job_id(), ": ",
                               record.run_failing().first().text()));
    case v1::Record::kRunEnded:
      return DescribeEnd(record.run_ended());
    // These records have no line for people.
    case v1::Record::kClusterFounded:
    case v1::Record::kTermBegun:
    case v1::Record::kRunForgotten:
    case v1::Record::kSnapshot:
    case v1::Record::kStoreChanged:
    case v1::Record::kQuorumChanged:
    case v1::Record::KIND_NOT_SET:
    case v1::Record::kNodeReported:  // DescribeReport writes its lines
      return std::nullopt;
  }
  return std::nullopt;  // a kind that a newer program has added
}

}  // namespace

std::vector<v1::JobEvent> Describe(const State& state, const v1::Record& record) {
  if (record.has_node_reported()) return DescribeReport(state, record.node_reported());
  std::vector<v1::JobEvent> lines;
  if (std::optional<v1::JobEvent> line = DescribeOne(state, record)) lines.push_back(*std::move(line));
  return lines;
}

Severity SeverityOf(const v1::JobEvent& event) {
  // A failed job is only a warning: it is no error of the scheduler, and the agents report it as well.
  if (event.kind() == "run_failed" || event.kind() == "node_lost" || event.kind() == "remote_command_refused") {
    return Severity::kWarning;
  }
  if (event.kind() == "round_closed" || event.kind() == "run_succeeded" || event.kind() == "run_failing" ||
      event.kind() == "run_stopping" || event.kind() == "run_stopped" || event.kind() == "round_aborted" ||
      event.kind() == "round_stopped" || event.kind() == "process_restarted" || event.kind() == "node_returned" ||
      event.kind() == "node_draining" || event.kind() == "node_stays" || event.kind() == "node_recertified" ||
      event.kind() == "remote_command") {
    return Severity::kInfo;
  }
  return Severity::kDebug;
}

}  // namespace muster::scheduler
